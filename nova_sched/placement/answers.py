"""An answer of Placement, or of whatever answers in its place."""

import dataclasses

from nova_sched import exception
from nova_sched import service_adapter

#: Characters of an error's text that go into a log line.
_MOST = 500

_BROKEN = 'See the log of Placement at that time'
#: What the operator can do about an answer, by HTTP status.
_ADVICE = {
    400: 'Correct what it complains of in the flavor, image or request',
    403: 'Give the user of [placement] the role that the policy of Placement '
         'asks for, such as admin or service',
    404: "Check that the endpoint of Placement, in Keystone's catalog or "
         '[placement] endpoint_override, is right',
    406: 'It does not speak that microversion: upgrade Placement, or ask '
         'again if it has just been replaced',
    409: 'Others have changed it meanwhile; what comes next may work',
    429: 'Something in front of Placement limits how often it is asked',
}
_NOT_PLACEMENT = (
    "What answers there is not Placement: check its endpoint in Keystone's "
    'catalog, or [placement] endpoint_override')


@dataclasses.dataclass(frozen=True)
class Answer(service_adapter.Answer):
    """What Placement answered to one HTTP request.

    request_id: Placement's own.
    """

    request_id: str | None = None

    @property
    def _error(self):
        """The first of the errors that the body tells of: dict."""
        try:
            error, *_ = self.document()['errors']
            return dict(error)
        except (ValueError, KeyError, TypeError):
            return {}

    @property
    def code(self):
        """Placement's code of the error (microversion 1.23): text or None."""
        return self._error.get('code')

    @property
    def words(self):
        """What it says of an error, in one line of at most 500 characters."""
        said = str(self._error.get('detail') or self.text)
        return ' '.join(said.split())[:_MOST].rstrip('.')

    @property
    def advice(self):
        """What the operator can do about it, a sentence."""
        if self.status < 400:
            return _NOT_PLACEMENT
        return _ADVICE.get(self.status, _BROKEN)


class Refused(exception.PlacementError):
    """Placement does not do, or cannot do, what it was asked.

    what: that failed, a sentence.  answer: Answer.  problem: with it, where
    it does not say so itself.
    """

    def __init__(self, what, answer, problem=None):
        super().__init__(
            f'{what} Got {answer.status}: '
            f'{problem or answer.words or "nothing"}. {answer.advice}')
