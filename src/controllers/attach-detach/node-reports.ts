import { Node } from '#api/core/v1/kinds.gen.ts'
import type { V1Node } from '#api/core/v1/types.gen.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import { attachmentsOnNode, isUsable, uniqueNameOfAttachment } from '#controllers/attach-detach/attachments.ts'
import type { Cache } from '#controllers/runtime/cache.ts'

/**
 * What nodes are told to have attached (`status.volumesAttached`). A node mounts nothing else, and says what it is about to mount
 * (`status.volumesInUse`) before it looks here: so a volume that is taken off the list, and then is not in use, is nobody's.
 */
export class NodeReports {
  /** On their way out, `node volume`: no longer told, though still attached. */
  readonly #withdrawn = new Set<string>()
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
    const wanted = this.#wanted(nodeName, cache)
    const told = toldOf(this.#latest.get(nodeName) ?? node, node)
    if (told.length === wanted.length && told.every((name) => wanted.includes(name))) return
    try {
      const status = { volumesAttached: wanted.map((name) => ({ name, devicePath: '' })) }
      this.#latest.set(nodeName, await client.patch(Node, { name: nodeName }, { status }, { subresource: 'status', type: 'merge' }))
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
    return [...new Set(names)].filter((name) => !this.#withdrawn.has(`${nodeName} ${name}`)).sort()
  }

  /** Whether the node is told of the volume, as far as anybody knows. */
  tells(node: V1Node, uniqueName: string): boolean {
    return toldOf(this.#latest.get(node.metadata.name ?? '') ?? node, node).includes(uniqueName)
  }

  forget(nodeName: string): void {
    this.#latest.delete(nodeName)
  }
}

function toldOf(written: V1Node, seen: V1Node): string[] {
  const isNewer =
    written.metadata.uid === seen.metadata.uid && Number(written.metadata.resourceVersion) > Number(seen.metadata.resourceVersion)
  return ((isNewer ? written : seen).status?.volumesAttached ?? []).map(({ name }) => name)
}
