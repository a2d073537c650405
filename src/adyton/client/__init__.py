"""The same Python over the network: ``adyton.connect(address)`` gives studies and holdouts of a server.

``connection`` is the door, ``line`` sends and retries, ``access`` finds the token, ``studies``, ``monitors``
and ``holdouts`` have the methods that they have in process, and ``chain`` replays receipts here.
"""

from adyton.client.connection import ServerConnection, connect
from adyton.client.holdouts import RemoteHoldout, RemoteLeaderboard, RemoteScorer
from adyton.client.monitors import RemoteMonitor
from adyton.client.studies import RemoteMock, RemoteStudy

__all__ = [
    "RemoteHoldout",
    "RemoteLeaderboard",
    "RemoteMock",
    "RemoteMonitor",
    "RemoteScorer",
    "RemoteStudy",
    "ServerConnection",
    "connect",
]
