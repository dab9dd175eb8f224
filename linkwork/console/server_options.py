"""Options of the console's server: its address and protection."""

from pathlib import Path

from linkwork.options import command_options, flag, option, several


@command_options
class ServerOptions:
    """Address and protection of a console. Password, certificate and key are needed beyond loopback.

    port: None takes the usual one, or a free one if that is taken. lifeline: end when standard input closes.
    """

    port: int | None = option("Port of the page.", least=1, most=65535, default_text="8720, or a free one")
    host: str = option(
        "Address to serve at; beyond this computer with a password and TLS only.", default="127.0.0.1"
    )
    hosts: tuple[str, ...] = several("Further name by which browsers reach this computer.", "HOST", "--name")
    password_file: Path | None = option("File with the password.", "FILE")
    certificate: Path | None = option("TLS certificate, PEM.", "FILE")
    key: Path | None = option("Its key, PEM.", "FILE")
    lifeline: bool = flag("", hidden=True)

    @property
    def protection_words(self) -> list[str]:
        """Options of another console with the same protection, at another port."""
        words = ["--host", self.host]
        for name in self.hosts:
            words += ["--name", name]
        for word, path in (
            ("--password-file", self.password_file),
            ("--certificate", self.certificate),
            ("--key", self.key),
        ):
            words += [] if path is None else [word, str(path)]
        return words

    @property
    def secure(self) -> bool:
        """Whether the page is served with TLS."""
        return self.certificate is not None
