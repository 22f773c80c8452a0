// What the elements have in common: whose store they show.

import type { TokenSource } from './api'
import { sharedStore, type Change, type Store } from './store'

/** StoreElement is an element that draws from the page's one store. */
export abstract class StoreElement extends HTMLElement {
	#getToken: TokenSource = () => null
	#store: Store | null = null

	/** Where the bearer token comes from. Asked before every request, so it may hand out fresh ones. */
	get getToken(): TokenSource {
		return this.#getToken
	}

	set getToken(source: TokenSource) {
		this.#getToken = source
		if (this.#store?.connection === 'signed-out') this.#store.start()
	}

	/** The store; without one of its own an element shares the page's store for its `base` address. */
	get store(): Store {
		this.#store ??= sharedStore(this.getAttribute('base') ?? '', () => this.#getToken())
		return this.#store
	}

	set store(store: Store) {
		this.#store = store
	}

	/** subscribe listens to the store, and tells the page when its token is not accepted any more. */
	protected subscribe(listener: (change: Change) => void): () => void {
		const { store } = this
		return store.subscribe((change) => {
			if (change.kind === 'connection' && store.connection === 'signed-out') {
				this.dispatchEvent(new CustomEvent('parley-token-expired', { bubbles: true, composed: true }))
			}
			listener(change)
		})
	}

	/** takeEarlyProperties lets a page set properties before this script has loaded. */
	protected takeEarlyProperties(): void {
		const self = this as unknown as Record<string, unknown>
		for (const name of ['getToken', 'store', 'via']) {
			if (!Object.hasOwn(this, name)) continue
			const value = self[name]
			delete self[name]
			self[name] = value
		}
	}
}
