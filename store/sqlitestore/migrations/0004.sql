-- What somebody still has to decide, beside all that was decided.
CREATE INDEX inbox_approvals_undecided ON inbox_approvals (assignee, created, id) WHERE assignee <> '' AND state = 'open';
