/** Stored custom objects as one version of their kind shows them: converted, pruned, and with today's defaults. */
import type { ConvertObjects, UntypedKind } from '#api/custom-kinds/untyped-kind.ts'
import type { KubernetesObject, ResourceDefinition } from '#api/resource.ts'
import { encodeUntyped } from '#apiserver/custom-resources/encode-untyped.ts'
import { CachedObject } from '#apiserver/watch-cache/cached-object.ts'
import type { ObjectView } from '#apiserver/watch-cache/version-cache.ts'

export type VersionViewOptions = {
  definition: ResourceDefinition & { untyped: UntypedKind }
  /** Absent where another version differs in its name alone. */
  convert?: ConvertObjects | undefined
  /** Stored bytes that show what clients get, as those who wrote them know. */
  settled: { has(value: Uint8Array): boolean }
}

export class VersionView implements ObjectView {
  readonly #definition: VersionViewOptions['definition']
  readonly #apiVersion: string
  readonly #convert: ConvertObjects | undefined
  readonly #settled: VersionViewOptions['settled']
  /** What clients get is what is stored. */
  readonly #unchanged = new WeakSet<CachedObject>()
  readonly #shown = new WeakMap<CachedObject, CachedObject>()
  /** What was asked for elsewhere. */
  readonly #converted = new WeakMap<CachedObject, KubernetesObject>()

  constructor({ definition, convert, settled }: VersionViewOptions) {
    this.#definition = definition
    this.#apiVersion = `${definition.group}/${definition.version}`
    this.#convert = convert
    this.#settled = settled
  }

  shown(stored: CachedObject): CachedObject {
    if (this.#isUnchanged(stored)) return stored
    let shown = this.#shown.get(stored)
    if (shown === undefined) {
      const { key, namespace, name, revision } = stored
      // Looked into when somebody does: lists that select by name, or show one page, need not touch the others.
      shown = new CachedObject(key, namespace, name, revision, () => this.#bytesOf(stored), undefined, stored)
      this.#shown.set(stored, shown)
    }
    return shown
  }

  prepare(objects: readonly CachedObject[]): Promise<void> | undefined {
    const convert = this.#convert
    if (convert === undefined) return undefined
    const missing = objects.filter((each) => this.isUnprepared(each)).map(({ stored }) => ({ stored, object: stored.peek() }))
    if (missing.length === 0) return undefined
    const asked = missing.map(({ object }) => object)
    return convert(asked, this.#definition).then((converted) => {
      for (const [index, { stored }] of missing.entries()) {
        const object = converted[index]
        if (object !== undefined) this.#converted.set(stored, object)
      }
    })
  }

  get asksElsewhere(): boolean {
    return this.#convert !== undefined
  }

  isUnprepared({ stored }: CachedObject): boolean {
    if (this.#convert === undefined || this.#isUnchanged(stored) || this.#converted.has(stored)) return false
    return stored.peek().apiVersion !== this.#apiVersion
  }

  #isUnchanged(stored: CachedObject): boolean {
    return this.#unchanged.has(stored) || this.#settled.has(stored.value)
  }

  #bytesOf(stored: CachedObject): Uint8Array {
    const object = stored.peek()
    const needsConversion = this.#convert !== undefined && object.apiVersion !== this.#apiVersion
    // Parts of the server that cannot wait for a webhook see the object as it is stored, under the name of this version.
    const converted = needsConversion ? (this.#converted.get(stored) ?? object) : object
    const restored = this.#definition.untyped.restore(converted)
    if (restored === object) {
      this.#unchanged.add(stored)
      this.#shown.delete(stored)
      return stored.value
    }
    return encodeUntyped(restored).value
  }
}
