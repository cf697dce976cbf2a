/** Follows the definitions of custom resources: settles their status, and has their kinds served. */
import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { customKinds, type LiveState } from '#api/custom-kinds/custom-kind.ts'
import { nextStatus } from '#api/custom-kinds/definition-status.ts'
import type { ConvertObjects } from '#api/custom-kinds/untyped-kind.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'
import { isReason } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { Scheme } from '#api/scheme.ts'
import { GroupNames } from '#apiserver/custom-resources/group-names.ts'
import { InstanceCleanup } from '#apiserver/custom-resources/instance-cleanup.ts'
import { type ChangeStatus, statusWriter } from '#apiserver/custom-resources/status-writer.ts'
import type { FieldOwnership } from '#apiserver/registry/field-ownership.ts'
import type { Registries } from '#apiserver/registry/registries.ts'
import { append } from '#base/append.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'

export type CustomDefinitionsOptions = {
  scheme: Scheme
  registries: Registries
  ownership: FieldOwnership
  clock: Clock
  logger: Logger
  /** How objects of a definition with a webhook get from one version to another. */
  converter?(definition: V1CustomResourceDefinition): ConvertObjects | undefined
}

type Served = {
  readonly signature: string
  readonly kinds: ResourceDefinition[]
  readonly live: LiveState
  /** What it was when it was deleted, for requests that still run. While it lies in the cache, no copy is kept. */
  last?: V1CustomResourceDefinition
  /** Where it has so many versions that they are taken up bit by bit. */
  isComplete?: Promise<void>
}

const retryMs = 1000
/** The event loop gets to its sockets again after about so long. */
const turnMs = 8

export class CustomDefinitions implements Disposable {
  readonly #options: CustomDefinitionsOptions
  readonly #changeStatus: ChangeStatus
  readonly #cleanup: InstanceCleanup
  readonly #served = new Map<string, Served>()
  readonly #groups = new Map<string, GroupNames>()
  /** Whose status is to be looked at. */
  readonly #pending = new Set<string>()
  readonly #following: Disposable
  #isRunning = false
  #isOver = false

  /** The caches must have been filled: what is defined already is served when this returns. */
  constructor(options: CustomDefinitionsOptions) {
    this.#options = options
    const { registries } = options
    this.#changeStatus = statusWriter(options)
    this.#cleanup = new InstanceCleanup({
      ...options,
      changeStatus: this.#changeStatus,
      kindsOf: (name) => this.#served.get(name)?.kinds ?? [],
    })
    this.#following = registries.view().onChange(CustomResourceDefinition, (definition, isDeleted) => {
      if (isDeleted) this.#forget(definition)
      else this.#observe(definition)
    })
  }

  [Symbol.dispose](): void {
    this.#isOver = true
    this.#following[Symbol.dispose]()
    this.#cleanup[Symbol.dispose]()
  }

  #observe(definition: V1CustomResourceDefinition): void {
    const name = definition.metadata.name ?? ''
    const { group } = definition.spec
    const names = this.#groups.get(group) ?? new GroupNames()
    this.#groups.set(group, names)
    const hasFreed = names.set(
      name,
      definition.status?.acceptedNames ?? {},
      isConditionTrue(definition.status?.conditions, 'NamesAccepted'),
    )
    if (hasFreed) for (const other of names.unsettled) this.#look(other)
    // In the same turn: whoever reads that the kind is established can use it.
    if (isConditionTrue(definition.status?.conditions, 'Established')) void this.#serve(definition)
    const served = this.#served.get(name)
    if (served !== undefined) served.live.isTerminating = isConditionTrue(definition.status?.conditions, 'Terminating')
    this.#look(name)
    this.#cleanup.observe(definition)
  }

  #forget(definition: V1CustomResourceDefinition): void {
    const name = definition.metadata.name ?? ''
    const { group } = definition.spec
    this.#cleanup.forget(name)
    const served = this.#served.get(name)
    this.#served.delete(name)
    if (served !== undefined) {
      served.last = definition
      this.#options.scheme.update({ remove: served.kinds })
    }
    const names = this.#groups.get(group)
    names?.delete(name)
    if (names?.isEmpty) this.#groups.delete(group)
    // Its names are free now.
    for (const other of names?.unsettled ?? []) this.#look(other)
  }

  /** In this turn, but for versions by the thousand: these resolve later, and others get their turns meanwhile. */
  #serve(definition: V1CustomResourceDefinition): Promise<void> | undefined {
    const { metadata, status } = definition
    const name = metadata.name ?? ''
    const signature = JSON.stringify([metadata.uid, metadata.generation, status?.acceptedNames])
    const before = this.#served.get(name)
    if (before?.signature === signature) return before.isComplete
    const live = { isTerminating: isConditionTrue(definition.status?.conditions, 'Terminating') }
    const convert = this.#options.converter?.(definition)
    const versions = new Set(definition.spec.versions.filter((version) => version.served).map((version) => version.name))
    const served: Served = { signature, live, kinds: [] }
    const kinds = customKinds(definition, { read: this.#reader(name, served), live, convert })
    this.#served.set(name, served)
    const remove = (before?.kinds ?? []).filter(({ version }) => !versions.has(version))
    const isOver = this.#addSome(served, kinds, versions, remove)
    if (!isOver) served.isComplete = this.#addRest(name, served, kinds, versions)
    return served.isComplete
  }

  /** Until the event loop has been held for long enough. Returns whether that was all. */
  #addSome(
    served: Served,
    kinds: Iterator<ResourceDefinition>,
    versions: ReadonlySet<string>,
    remove: readonly ResourceDefinition[],
  ): boolean {
    const { clock, scheme } = this.#options
    const add: ResourceDefinition[] = []
    let next = kinds.next()
    for (; !next.done; next = kinds.next()) {
      const kind = next.value
      if (versions.has(kind.version) && !this.#isTaken(kind)) add.push(kind)
      if (clock.heldMs() >= turnMs) break
    }
    append(served.kinds, add)
    scheme.update({ add, remove })
    return next.done === true
  }

  async #addRest(name: string, served: Served, kinds: Iterator<ResourceDefinition>, versions: ReadonlySet<string>): Promise<void> {
    for (let isOver = false; !isOver; ) {
      await this.#nextTurn()
      // Others are served in their place, or none.
      if (this.#served.get(name) !== served || this.#isOver) return
      isOver = this.#addSome(served, kinds, versions, [])
    }
    delete served.isComplete
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#options.clock.soon(resolve))
  }

  /** In a function of its own, so that it does not keep the definition at hand when it is made. */
  #reader(name: string, served: Served): () => V1CustomResourceDefinition {
    return () => {
      const definition = this.#find(name) ?? served.last
      if (definition === undefined) throw new Error(`the CustomResourceDefinition ${name} is gone`)
      return definition
    }
  }

  /** Kinds that the server brings along are not given away. */
  #isTaken({ group, version, plural }: ResourceDefinition): boolean {
    const known = this.#options.scheme.byResource(group, version, plural)
    return known !== undefined && known.untyped === undefined
  }

  #find(name: string): V1CustomResourceDefinition | undefined {
    const registry = this.#options.registries.of(CustomResourceDefinition)
    return registry.cache.get(registry.key('', name))?.peek()
  }

  #look(name: string): void {
    this.#pending.add(name)
    if (this.#isRunning || this.#isOver) return
    this.#isRunning = true
    this.#options.clock.soon(() => void this.#run())
  }

  /** One after the other: which names are taken depends on who came before. */
  async #run(): Promise<void> {
    const { clock, logger } = this.#options
    for (const name of this.#pending) {
      this.#pending.delete(name)
      if (this.#isOver) break
      try {
        await this.#settle(name)
      } catch (error) {
        if (this.#isOver) break
        logger.warn('failed to update CustomResourceDefinition status', { definition: name, error: String(error) })
        clock.after(retryMs, () => this.#look(name))
      }
      // Many that come at once do not keep others waiting.
      await this.#nextTurn()
    }
    this.#isRunning = false
  }

  async #settle(name: string): Promise<void> {
    const definition = this.#find(name)
    if (definition === undefined) return
    const { clock } = this.#options
    const taken = this.#groups.get(definition.spec.group) ?? new GroupNames()
    const status = nextStatus(definition, taken, formatTime(clock.now()))
    if (status === definition.status) return
    const settled = { ...definition, status }
    // Before anybody can read that it is established.
    if (isConditionTrue(settled.status?.conditions, 'Established')) await this.#serve(settled)
    try {
      await this.#changeStatus(definition, (next) => ({ ...next, status }))
    } catch (error) {
      // Somebody wrote in between: then we hear of it.
      if (!isReason(error, 'Conflict') && !isReason(error, 'NotFound')) throw error
    }
  }
}
