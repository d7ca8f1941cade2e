"""Servers with TLS: a front of our own before a plain one, with certificates made for the occasion."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"
ASKS_FOR_TLS = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
"""PostgreSQL's request for TLS; it answers with one letter."""


@dataclass(frozen=True, slots=True)
class Papers:
    """An authority that a client may trust, and a server's certificate and key that it has signed."""

    authority: Path
    server: Path


def papers(directory: Path, *, name: str = HOST) -> Papers:
    """Make them; the server is called so."""
    issuer_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of these tests")])
    now = dt.datetime.now(dt.UTC)

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder(issuer_name=issuer, subject_name=subject, public_key=public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )

    is_authority = x509.BasicConstraints(ca=True, path_length=0)
    signs = x509.KeyUsage(False, False, False, False, False, True, True, False, False)  # theirs
    identifier = x509.SubjectKeyIdentifier.from_public_key(issuer_key.public_key())
    authority = builder(issuer, issuer_key.public_key()).add_extension(is_authority, critical=True)
    authority = authority.add_extension(signs, critical=True).add_extension(identifier, critical=False)
    is_number = name[0].isdigit()
    called = x509.IPAddress(ipaddress.ip_address(name)) if is_number else x509.DNSName(name)
    names = x509.SubjectAlternativeName([called])
    issued_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    served = builder(x509.Name([]), key.public_key()).add_extension(names, critical=True)
    served = served.add_extension(issued_by, critical=False)
    found = Papers(directory / "authority.pem", directory / "server.pem")
    pem = serialization.Encoding.PEM
    found.authority.write_bytes(authority.sign(issuer_key, hashes.SHA256()).public_bytes(pem))
    found.server.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + served.sign(issuer_key, hashes.SHA256()).public_bytes(pem)
    )
    return found


@asynccontextmanager
async def tls_before(port: int, shown: Papers, *, asks_first: bool = False) -> AsyncIterator[int]:
    """Speak TLS for a server on loopback, at once or when it is asked for; gives the port of the front."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.server)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Who does not trust what it is shown hangs up in the middle.
        with suppress(OSError, asyncio.IncompleteReadError):
            if asks_first:
                if await reader.readexactly(len(ASKS_FOR_TLS)) != ASKS_FOR_TLS:
                    return  # plain speech is not heard here
                writer.write(b"S")
                await writer.start_tls(context)
            behind = await asyncio.open_connection(HOST, port)
            await asyncio.gather(_pass_on(reader, behind[1]), _pass_on(behind[0], writer))
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0, ssl=None if asks_first else context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()
