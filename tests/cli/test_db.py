"""`desk db`."""


def test_upgrade_migrates_once_when_the_database_is_new(desk, tmp_path):
    desk.patch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/new/desk.db")
    assert desk("db", "check").code == 1
    assert desk.ok("db", "upgrade", "--json").json == {"upgraded": True}
    assert desk.ok("db", "upgrade", "--json").json == {"upgraded": False}
    assert desk.ok("db", "check", "--json").json == {"current": True}


def test_upgrade_changes_nothing_when_the_database_is_up_to_date(desk):
    assert desk.ok("db", "upgrade", "--json").json == {"upgraded": False}
    assert desk.ok("db", "check").out == "The database is up to date.\n"
