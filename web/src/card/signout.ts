// The end of a sign-in to a server. What is kept here is gone when the answer comes; the
// sentence says what the authorization server made of it.

import { announce } from '../lib/announce'
import { el, fill, uid } from '../lib/dom'
import { sentence } from '../lib/api'
import type { Store } from '../lib/store'
import { rich, t } from '../lib/text'
import type { SignOutResult, Via } from '../lib/wire'

export class SignOut {
	readonly node = el('div', { class: 'actions', 'data-part': 'sign-out' })
	readonly #store: Store
	readonly #server: string
	readonly #via: Via
	readonly #id = uid('sign-out')
	#can = false
	#busy = false
	#bad = ''
	#done: SignOutResult['revoked'] | null = null

	constructor(store: Store, server: string, via: Via) {
		this.#store = store
		this.#server = server
		this.#via = via
	}

	/** update says whether there is something to end; it reports whether there is something to show. */
	update(can: boolean): boolean {
		this.#can = can
		if (can) this.#done = null // signed in anew
		this.#draw()
		return can || this.#done !== null || this.#bad !== ''
	}

	#draw(): void {
		fill(this.node,
			this.#bad ? el('p', { class: 'notice bad', role: 'alert' }, this.#bad) : null,
			this.#done ? el('p', { class: 'quiet', id: this.#id, tabIndex: -1 }, rich(`sign-out.${this.#done}`, { server: this.#server })) : null,
			this.#can ? el('button', {
				type: 'button', id: this.#id, class: 'link', 'data-action': 'server-sign-out', 'aria-disabled': this.#busy ? 'true' : null, on: { click: () => void this.#end() },
			}, rich('sign-out.button', { server: this.#server })) : null)
	}

	async #end(): Promise<void> {
		if (this.#busy) return
		this.#busy = true
		this.#bad = ''
		this.#draw()
		try {
			const { revoked } = await this.#store.api.write<SignOutResult>(`/v1/servers/${encodeURIComponent(this.#server)}/sign-out`, { via: this.#via })
			this.#can = false
			this.#done = revoked
			announce(t(`sign-out.${revoked}`, { server: this.#server }))
		} catch (error) {
			this.#bad = sentence(error)
		} finally {
			this.#busy = false
			this.#draw()
			this.node.querySelector<HTMLElement>(`#${this.#id}`)?.focus()
			void this.#store.loadServers().catch(() => undefined)
		}
	}
}
