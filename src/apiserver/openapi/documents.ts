/** The OpenAPI documents of what is served: made when they are asked for, kept compressed, and forgotten when something changes. */

import { createHash } from 'node:crypto'
import { allVerbs } from '#api/kind.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import { schemaLines } from '#api/schema/schema.gen.ts'
import type { Scheme } from '#api/scheme.ts'
import { subresourcesOf } from '#apiserver/discovery/discovery.ts'
import type { Clock } from '#base/clock.ts'
import { gzip } from '#base/compression.ts'
import { defined } from '#base/defined.ts'
import { type Breathe, buildV2, buildV3, type FormatV2 } from './build.ts'
import { type CustomTypes, customTypesOf } from './custom-definition.ts'
import { rootOf } from './naming.ts'
import type { PathItem } from './operation.ts'
import { groupInformation, otherPaths, versionResources } from './other-paths.ts'
import type { RemoteDocuments } from './remote-documents.ts'
import { resourcePaths } from './resource-paths.ts'

export type OpenApiOptions = {
  /** What is served. */
  scheme: Pick<Scheme, 'revision' | 'definitions'>
  /** Of the program: another one may describe the same API in other words. */
  version: string
  clock: Clock
  /** What other servers serve. */
  remote?: RemoteDocuments | undefined
}

/** `hash` changes with the content. */
type DocumentV3 = {
  readonly hash: string
  paths(): Iterable<PathItem>
  listsGroupVersion(group: string, version: string): boolean
  readonly custom?: CustomTypes
  /** What it was made for, where that is not its name alone. */
  readonly served?: readonly ResourceDefinition[]
}

type Built = { readonly hash: string; readonly compressed: Buffer }

/** How long building goes on before others get their turn. */
const sliceMs = 4

/** So many documents that are gone are remembered. */
const keptGone = 10_000

export class OpenApiDocuments {
  readonly #options: OpenApiOptions
  /** The revision of the scheme that the documents were made for. */
  #revision = -1
  #documents = new Map<string, DocumentV3>()
  readonly #built = new Map<string, Promise<Built>>()
  #schemaHash: string | undefined
  readonly #gone = new Set<string>()

  constructor(options: OpenApiOptions) {
    this.#options = options
  }

  get remote(): RemoteDocuments | undefined {
    return this.#options.remote
  }

  /** The version 3 documents by name (`apis/apps/v1`) with their hashes. */
  index(): ReadonlyMap<string, { readonly hash: string }> {
    this.#refresh()
    return this.#documents
  }

  /** Undefined where nothing of that name is served. */
  v3(name: string): Promise<Built> | undefined {
    this.#refresh()
    const document = this.#documents.get(name)
    if (document === undefined) return undefined
    return this.#keep(`${name} ${document.hash}`, async () => {
      const { hash, listsGroupVersion, custom } = document
      const bytes = await buildV3(document.paths(), { listsGroupVersion, ...defined({ custom }) }, this.#pacer())
      return { hash, compressed: await gzip(bytes) }
    })
  }

  /** Whether there was such a document before. */
  isGone(name: string): boolean {
    return this.#gone.has(name)
  }

  async v2(format: FormatV2): Promise<Built> {
    const remote = (await this.#options.remote?.v2()) ?? []
    this.#refresh()
    const documents = [...this.#documents].filter(([name]) => !this.#options.remote?.owns(name)).map(([, document]) => document)
    const hash = this.#hash([...documents, ...remote].map((each) => each.hash).join())
    const key = `v2 ${format} ${hash}`
    for (const known of [...this.#built.keys()]) if (known.startsWith(`v2 ${format} `) && known !== key) this.#built.delete(known)
    return this.#keep(key, async () => {
      const custom = new Map(documents.flatMap((document) => [...(document.custom ?? [])]))
      const parts = remote.map((each) => each.parts)
      const bytes = await buildV2(pathsOf(documents), format, { custom }, this.#pacer(), parts)
      return { hash, compressed: await gzip(bytes) }
    })
  }

  #keep(key: string, build: () => Promise<Built>): Promise<Built> {
    const known = this.#built.get(key)
    if (known !== undefined) return known
    const built = this.#built
    const building = build().catch((error: unknown) => {
      built.delete(key)
      throw error
    })
    built.set(key, building)
    return building
  }

  #pacer(): Breathe {
    const { clock } = this.#options
    let since = clock.monotonic()
    return () => {
      if (clock.monotonic() - since < sliceMs) return undefined
      return new Promise((resolve) =>
        clock.soon(() => {
          since = clock.monotonic()
          resolve()
        }),
      )
    }
  }

  #refresh(): void {
    const { scheme } = this.#options
    if (scheme.revision === this.#revision) return
    this.#revision = scheme.revision
    const before = this.#documents
    this.#documents = this.#documentsOf([...scheme.definitions()])
    for (const name of before.keys()) if (!this.#documents.has(name)) this.#gone.add(name)
    for (const name of this.#documents.keys()) this.#gone.delete(name)
    if (this.#gone.size > keptGone) this.#gone.clear()
    const current = new Set([...this.#documents].map(([name, { hash }]) => `${name} ${hash}`))
    for (const key of [...this.#built.keys()]) if (!current.has(key)) this.#built.delete(key)
  }

  #documentsOf(definitions: readonly ResourceDefinition[]): Map<string, DocumentV3> {
    const documents = new Map<string, DocumentV3>()
    const isCore = (group: string, version: string) => group === '' && version === 'v1'
    // With thousands of custom resources most are what they were, and hashing all of them takes long.
    const keep = (name: string, served: DocumentV3['served'], make: () => DocumentV3) => {
      const known = this.#documents.get(name)
      documents.set(name, known !== undefined && isSame(known.served, served) ? known : make())
    }
    for (const [name, item] of Object.entries(otherPaths)) {
      keep(name, undefined, () => ({ hash: this.#hash(name), paths: () => [item], listsGroupVersion: isCore }))
    }
    const versions = Map.groupBy(definitions, ({ group, version }) => rootOf(group, version).slice(1))
    for (const [name, served] of versions) {
      const [{ group, version }] = served as [ResourceDefinition]
      if (group !== '') {
        keep(`apis/${group}`, undefined, () => {
          const item = groupInformation(group)
          return { hash: this.#hash(group), paths: () => [item], listsGroupVersion: isCore }
        })
      }
      keep(name, served, () => ({
        served,
        hash: this.#hash(JSON.stringify(served.map(signature))),
        custom: customTypesOf(served),
        *paths() {
          yield versionResources(group, version)
          for (const definition of served) yield* resourcePaths(definition)
        },
        listsGroupVersion: (eachGroup, eachVersion) => isCore(eachGroup, eachVersion) || (eachGroup === group && eachVersion === version),
      }))
    }
    return new Map([...documents].sort(([one], [other]) => (one < other ? -1 : 1)))
  }

  /**
   * Of what the content is made from, not of the content: the index of all documents is asked for by everyone who wants one of
   * them, and must not cost the making of all.
   */
  #hash(text: string): string {
    this.#schemaHash ??= createHash('sha256').update(`${this.#options.version}\n`).update(schemaLines).digest('hex')
    return createHash('sha512').update(`${this.#schemaHash}\n${text}`).digest('hex').toUpperCase()
  }
}

function isSame(some: DocumentV3['served'], others: DocumentV3['served']): boolean {
  return some === others || (some?.length === others?.length && some?.every((each, index) => each === others?.[index]) === true)
}

function* pathsOf(documents: readonly DocumentV3[]): Generator<PathItem> {
  for (const document of documents) yield* document.paths()
}

/** Everything of a definition that shows in a document. */
function signature(definition: ResourceDefinition): unknown {
  const { group, version, kind, plural, scope, schema, verbs = allVerbs, returnsDeletedObject } = definition
  const { untyped } = definition
  return [group, version, kind, plural, scope, schema, verbs, returnsDeletedObject, subresourcesOf(definition), untyped?.signature]
}
