//! Lines about jobs: over the interface, and on their page.

use service::Scope;

use crate::fixture::Site;

/// The line of a job that started now.
fn line(id: u32) -> String {
    let now = jiff::Timestamp::now().as_second();
    format!(
        "{{\"format\":\"colltune-usage\",\"version\":1,\"id\":\"{id:016x}\",\"job\":null,\"program\":\"solver\",\
         \"library\":\"openmpi-4.1.4\",\"started\":{now},\"seconds\":12.5,\"ranks\":4,\"outcome\":\"used\",\"why\":null,\
         \"table\":{{\"name\":\"night\",\"sha256\":\"{}\",\"replacements\":0}},\"calls\":[\
         {{\"collective\":\"allreduce\",\"by\":\"table\",\"calls\":75}},\
         {{\"collective\":\"ibcast\",\"by\":\"nonblocking\",\"calls\":25}}]}}\n",
        "a".repeat(64)
    )
}

const LINES: &str = "POST /api/v1/machines/local/usage";

#[test]
fn lines_about_jobs_are_sent_and_shown() {
    let site = Site::of_two_machines(|_| {});
    let empty = site.get("/usage").expect(200);
    assert!(empty.body.contains("No lines about jobs have been sent."));
    let token = site.token(&[Scope::Usage], &["local"]);
    let bearer = format!("Authorization: Bearer {token}");
    let body = line(1) + &line(2);
    let sent = site.send(LINES, &[&bearer], &body).expect(200).json();
    assert_eq!(sent["counted"], 2, "{sent}");
    let again = site.send(LINES, &[&bearer], &body).expect(200).json();
    assert_eq!(
        (&again["counted"], &again["repeated"]),
        (&0.into(), &2.into())
    );
    let read = site.get("/api/v1/machines/local/usage").expect(200).json();
    let table = &read["tables"][0];
    assert_eq!(table["table"], "other", "{read}");
    assert_eq!(table["coverage"]["served_share"], 0.75, "{read}");
    let page = site.get("/usage").expect(200);
    for part in [
        "75.0 %",
        "25.0 % of the calls: the library: nonblocking",
        "ibcast",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    // The token serves for nothing else, and for no other machine.
    for other in [
        "GET /api/v1/tasks",
        "POST /api/v1/machines/other/usage",
        "GET /api/v1/machines/local/usage",
    ] {
        let closed = Site::of_two_machines(|configuration| configuration.open_reading = false);
        let weak = closed.token(&[Scope::Usage], &["local"]);
        let weak = format!("Authorization: Bearer {weak}");
        closed.send(other, &[&weak], &line(1)).expect(403);
    }
    site.send(LINES, &[], &body).expect(401);
}

#[test]
fn wrong_lines_and_too_many_requests_are_refused() {
    let site = Site::new();
    let bearer = site.bearer();
    let body = line(1) + "{}\n";
    let wrong = site.send(LINES, &[&bearer], &body).expect(422);
    assert!(wrong.body.contains("line 2: "), "{}", wrong.body);
    let long = " ".repeat((1 << 20) + 1);
    site.send(LINES, &[&bearer], &long).expect(413);
    site.send("POST /api/v1/machines/none/usage", &[&bearer], "")
        .expect(404);
    site.send("GET /api/v1/machines/local/usage?days=0", &[&bearer], "")
        .expect(422);
    // Two requests have counted so far.
    for _ in 2..120 {
        site.send(LINES, &[&bearer], "").expect(200);
    }
    let refused = site.send(LINES, &[&bearer], "").expect(429);
    assert!(refused.header("retry-after").is_some());
}
