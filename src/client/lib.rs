//! What talks to a service: `colltune pull` and `colltune remote`.
