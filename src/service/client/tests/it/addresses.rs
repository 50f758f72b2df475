//! URLs of services and channels.

use client::{ChannelAddress, Remote, ServiceUrl, Token};
use vocabulary::ErrorKind;

#[test]
fn addresses_are_read_in_all_usual_forms() {
    for (text, shown) in [
        ("https://tables.site", "https://tables.site"),
        ("https://tables.site/", "https://tables.site"),
        (
            "https://tables.site:8443/tune/",
            "https://tables.site:8443/tune",
        ),
        ("http://127.0.0.1:7878/api/v1", "http://127.0.0.1:7878"),
        ("http://[::1]:7878", "http://[::1]:7878"),
        ("unix:/run/colltune.sock", "unix:/run/colltune.sock"),
    ] {
        assert_eq!(ServiceUrl::parse(text).unwrap().to_string(), shown);
    }
    for text in [
        "",
        "tables.site",
        "ftp://tables.site",
        "/run/colltune.sock",
        "unix:run",
        "unix:",
        "https://",
        "https://a b",
        "https://tables.site?x=1",
        "https://tables.site#x",
        "https://user:hunter2@tables.site",
        "unix:/run/s:x",
    ] {
        let error = ServiceUrl::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn channels_are_read_with_and_without_the_interface() {
    for text in [
        "https://tables.site/machines/a.b/libraries/openmpi-4.1.4/channels/production",
        "https://tables.site/api/v1/machines/a.b/libraries/openmpi-4.1.4/channels/production",
        "https://tables.site/machines/a%2Eb/libraries/openmpi-4.1.4/channels/production",
    ] {
        let (url, channel) = ChannelAddress::from_url(text).unwrap();
        assert_eq!(url.to_string(), "https://tables.site");
        let path = "/machines/a.b/libraries/openmpi-4.1.4/channels/production";
        assert_eq!(channel.path(), path);
    }
    let strange = "unix:/run/s:/api/v1/machines/a/libraries/x%20y/channels/canary";
    let (_, channel) = ChannelAddress::from_url(strange).unwrap();
    assert_eq!(channel.library, "x y");
    assert_eq!(
        channel.path(),
        "/machines/a/libraries/x%20y/channels/canary"
    );
    for text in [
        "https://tables.site",
        "https://tables.site/machines/a/libraries/b/channels",
        "https://tables.site/machines/a/libraries/b/channels/",
        "https://tables.site/machines/a/libraries/b/channels/c/d",
        "https://tables.site/machines/../libraries/b/channels/c",
        "https://tables.site/machines/a%2Fb/libraries/b/channels/c",
        "https://tables.site/machines/%00/libraries/b/channels/c",
        "https://tables.site/machines/a%E2%80%AEb/libraries/b/channels/c",
        "https://tables.site/machines/%ff/libraries/b/channels/c",
        "https://tables.site/machines/a/libraries/b/channels/c?x",
        "machines/a/libraries/b/channels/c",
    ] {
        // `?x` is part of the last name, which no channel has.
        if let Ok((_, accepted)) = ChannelAddress::from_url(text) {
            assert_eq!(accepted.channel, "c?x");
            assert!(accepted.path().ends_with("/c%3Fx"));
        }
    }
}

#[test]
fn a_token_is_not_sent_unencrypted_to_other_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let token = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Token::from_file_or_environment(Some(&path))
    };
    for text in ["", "\n", "two words", "ä", &"x".repeat(257)] {
        assert_eq!(token(text).unwrap_err().kind(), ErrorKind::Input);
    }
    assert!(Token::from_file_or_environment(Some(&folder.path().join("none"))).is_err());
    let token = token("  secret\n").unwrap();
    assert!(!format!("{token:?}").contains("secret"));
    for (url, is_sent) in [
        ("http://tables.site", false),
        ("http://127.0.0.1.tables.site", false),
        ("http://10.0.0.1", false),
        ("https://tables.site", true),
        ("http://127.0.0.1:1", true),
        ("http://localhost:1", true),
        ("http://[::1]:1", true),
        ("unix:/run/s", true),
    ] {
        let url = ServiceUrl::parse(url).unwrap();
        let made = Remote::new(url.clone(), token.clone(), None);
        assert_eq!(made.is_ok(), is_sent, "{url}");
        Remote::new(url, None, None).unwrap();
    }
}
