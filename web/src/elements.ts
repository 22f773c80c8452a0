// The elements for pages of others: <parley-question>, <parley-approval>,
// <parley-chat> and <parley-inbox>. Set getToken before the element is put into
// the page.

import { prepareAnnouncer } from './lib/announce'
import { ParleyChat } from './chat/chat'
import { ParleyInbox } from './chat/inbox'
import { ParleyApproval } from './card/approval'
import { ParleyQuestion } from './card/question'

export { ParleyApproval, ParleyChat, ParleyInbox, ParleyQuestion }

// A second copy of this script on a page changes nothing.
const elements: { readonly [name: string]: CustomElementConstructor } = {
	'parley-question': ParleyQuestion, 'parley-approval': ParleyApproval, 'parley-chat': ParleyChat, 'parley-inbox': ParleyInbox,
}
for (const [name, constructor] of Object.entries(elements)) {
	if (!customElements.get(name)) customElements.define(name, constructor)
}
prepareAnnouncer()
