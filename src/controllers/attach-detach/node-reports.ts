import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import { attachmentsOnNode, isUsable, uniqueNameOfAttachment } from '#controllers/attach-detach/attachments.ts'
import { holdersOf, isBooked, wantedOn } from '#controllers/attach-detach/booked-volumes.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/**
 * What nodes are told to have attached (`status.volumesAttached`). A node mounts nothing else, and says what it is about to mount
 * (`status.volumesInUse`) before it looks here: so a volume that is taken off the list, and then is not in use, is nobody's.
 */
export class NodeReports {
  /** On their way out, `node volume`: no longer told, though still attached. */
  readonly #withdrawn = new Set<string>()
  /** Nodes that are not waited for any more: what they use counts no longer. */
  readonly #givenUp = new Set<string>()
  /** Who was told of a volume that nodes attach by themselves, from before it is written until it is known not to be. */
  readonly #booked = new Map<string, Set<string>>()
  /** One write for a node at a time: the list is written as a whole. */
  readonly #turns = new Map<string, Promise<void>>()

  withdraw(nodeName: string, uniqueName: string): void {
    this.#withdrawn.add(`${nodeName} ${uniqueName}`)
  }
  restore(nodeName: string, uniqueName: string): void {
    this.#withdrawn.delete(`${nodeName} ${uniqueName}`)
  }

  /** Makes the node's list say what is true now. A node that is not there has none. */
  async write(nodeName: string, client: Client, cache: Cache): Promise<void> {
    const turn = (this.#turns.get(nodeName) ?? Promise.resolve()).catch(() => undefined).then(() => this.#write(nodeName, client, cache))
    this.#turns.set(nodeName, turn)
    try {
      await turn
    } finally {
      if (this.#turns.get(nodeName) === turn) this.#turns.delete(nodeName)
    }
  }

  async #write(nodeName: string, client: Client, cache: Cache): Promise<void> {
    const node = cache.get(Node, '', nodeName)
    if (node === undefined) return
    const attached = volumesAttached(this.#latest.get(nodeName) ?? node, node)
    const wanted = [...this.#wanted(nodeName, cache), ...this.#book(node, attached, cache)].sort()
    if (attached.length === wanted.length && attached.every((name) => wanted.includes(name))) return
    try {
      const status = { volumesAttached: wanted.map((name) => ({ name, devicePath: '' })) }
      this.#latest.set(nodeName, await client.patch(Node, { name: nodeName }, { status }, { subresource: 'status', type: 'merge' }))
      for (const [name, nodes] of this.#booked) if (!wanted.includes(name)) nodes.delete(nodeName)
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }

  /** Our last write, which the cache may not show yet. */
  readonly #latest = new Map<string, V1Node>()

  #wanted(nodeName: string, cache: Cache): string[] {
    const names = attachmentsOnNode(nodeName, cache)
      .filter(isUsable)
      .map((attachment) => uniqueNameOfAttachment(attachment, cache))
      .filter((name) => name !== undefined)
    return [...new Set(names)].filter((name) => !this.#withdrawn.has(`${nodeName} ${name}`))
  }

  /** Of volumes that the node attaches by itself: what its pods want and nobody else has, and what it still uses. */
  #book(node: V1Node, attached: readonly string[], cache: Cache): string[] {
    const nodeName = node.metadata.name ?? ''
    const wanted = wantedOn(nodeName, cache)
    const inUse = this.#givenUp.has(nodeName) ? [] : (node.status?.volumesInUse ?? [])
    const kept = attached.filter((name) => isBooked(name) && !wanted.has(name) && inUse.includes(name))
    const free = [...wanted.keys()].filter((name) => attached.includes(name) || !this.#mustWait(name, nodeName, cache))
    for (const name of free) this.#booked.set(name, (this.#booked.get(name) ?? new Set()).add(nodeName))
    return [...free, ...kept]
  }

  #mustWait(uniqueName: string, nodeName: string, cache: Cache): boolean {
    if (!wantedOn(nodeName, cache).get(uniqueName)?.isExclusive) return false
    if ([...(this.#booked.get(uniqueName) ?? [])].some((other) => other !== nodeName)) return true
    return holdersOf(uniqueName, cache).some(({ metadata: { name = '' }, status }) => {
      if (name === nodeName) return false
      const isAttached = status?.volumesAttached?.some((volume) => volume.name === uniqueName) ?? false
      return isAttached || !this.#givenUp.has(name)
    })
  }

  /** Whether a volume that pods of the node want is still with another node. */
  waits(nodeName: string, cache: Cache): boolean {
    return [...wantedOn(nodeName, cache).keys()].some((name) => this.#mustWait(name, nodeName, cache))
  }

  giveUp(nodeName: string, isGivenUp: boolean): void {
    if (isGivenUp) this.#givenUp.add(nodeName)
    else this.#givenUp.delete(nodeName)
  }

  /** Whether the node is told of the volume, as far as anybody knows. */
  tells(node: V1Node, uniqueName: string): boolean {
    return volumesAttached(this.#latest.get(node.metadata.name ?? '') ?? node, node).includes(uniqueName)
  }

  forget(nodeName: string): void {
    this.#latest.delete(nodeName)
    this.#givenUp.delete(nodeName)
    for (const [name, nodes] of this.#booked) if (nodes.delete(nodeName) && nodes.size === 0) this.#booked.delete(name)
  }
}

function volumesAttached(written: V1Node, seen: V1Node): string[] {
  const isNewer =
    written.metadata.uid === seen.metadata.uid && Number(written.metadata.resourceVersion) > Number(seen.metadata.resourceVersion)
  return ((isNewer ? written : seen).status?.volumesAttached ?? []).map(({ name }) => name)
}
