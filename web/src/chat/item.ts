// A card outside of its conversation: above it stands which call it belongs to,
// with the way to the conversation.

import { append, el, type Child } from '../lib/dom'
import type { Store } from '../lib/store'
import { rich, t, toolCalled } from '../lib/text'
import type { ParleyApproval } from '../card/approval'
import type { ParleyQuestion } from '../card/question'

export class Item {
	readonly node: HTMLElement
	readonly #context = el('div', { class: 'context' })
	readonly #store: Store
	readonly #kind: 'question' | 'approval'
	readonly #id: string

	constructor(store: Store, kind: 'question' | 'approval', id: string) {
		this.#store = store
		this.#kind = kind
		this.#id = id
		const card = document.createElement(`parley-${kind}`) as ParleyApproval | ParleyQuestion
		card.store = store
		card.via = 'inbox'
		card.setAttribute(`${kind}-id`, id)
		this.node = el('div', { class: 'item' }, this.#context, card)
		this.update()
	}

	/** update says what the card belongs to as soon as that is known. */
	update(): void {
		const row = this.#kind === 'question' ? this.#store.question(this.#id) : this.#store.approval(this.#id)
		if (!row || this.#context.childElementCount > 0) return
		const { conversation, call } = row
		append(this.#context, [
			el('h2', null, conversation || !('asker' in row) ? rich('inbox.context', { tool: toolCalled(row.tool_title, row.tool) }) : rich('inbox.of-others', { who: row.asker.subject })),
			conversation ? this.#show(conversation, call) : null, // a call of somebody else is not in this person's conversations
		])
	}

	#show(conversation: string, call: string): Child {
		return el('button', {
			type: 'button', class: 'link', on: {
				click: () => this.node.dispatchEvent(new CustomEvent('parley-show', { bubbles: true, composed: true, detail: { conversation, call } })),
			},
		}, t('inbox.show'))
	}
}
