/** Deletes the objects of definitions that are being deleted, and lets a definition go when none is left. */

import { CustomResourceDefinition } from '#api/apiextensions/v1/kinds.gen.ts'
import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { type DefinitionCondition, withDefinitionCondition } from '#api/custom-kinds/definition-status.ts'
import { ignoreNotFound, isNotFound, isReason } from '#api/meta/server-response.ts'
import { formatTime } from '#api/meta/time.ts'
import type { ResourceDefinition } from '#api/resource.ts'
import type { ChangeStatus } from '#apiserver/custom-resources/status-writer.ts'
import { type Registries, serverContext } from '#apiserver/registry/registries.ts'
import type { ResourceRegistry } from '#apiserver/registry/resource-registry.ts'
import type { Clock, Timer } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'

const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

export type InstanceCleanupOptions = {
  registries: Registries
  clock: Clock
  logger: Logger
  changeStatus: ChangeStatus
  /** The kinds that a definition is served as. */
  kindsOf(name: string): readonly ResourceDefinition[]
}

type Cleaning = { watching?: Disposable | undefined; timer?: Timer | undefined; isOver: boolean }

/** How long objects may take before the definition's status says that they do. */
const patienceMs = 60_000
const retryMs = 1000

export class InstanceCleanup implements Disposable {
  readonly #options: InstanceCleanupOptions
  readonly #cleaning = new Map<string, Cleaning>()
  readonly #retries = new Set<Timer>()

  constructor(options: InstanceCleanupOptions) {
    this.#options = options
  }

  [Symbol.dispose](): void {
    for (const name of [...this.#cleaning.keys()]) this.forget(name)
    for (const timer of this.#retries) timer.cancel()
  }

  observe(definition: V1CustomResourceDefinition): void {
    const { name = '', deletionTimestamp, finalizers = [] } = definition.metadata
    if (!deletionTimestamp || !finalizers.includes(cleanupFinalizer) || this.#cleaning.has(name)) return
    const cleaning: Cleaning = { isOver: false }
    this.#cleaning.set(name, cleaning)
    this.#options.clock.soon(() => void this.#begin(name, cleaning))
  }

  forget(name: string): void {
    const cleaning = this.#cleaning.get(name)
    this.#cleaning.delete(name)
    if (cleaning === undefined) return
    cleaning.isOver = true
    cleaning.watching?.[Symbol.dispose]()
    cleaning.timer?.cancel()
  }

  async #begin(name: string, cleaning: Cleaning): Promise<void> {
    if (cleaning.isOver) return
    const { clock, logger } = this.#options
    try {
      await this.#tell(name, {
        status: 'True',
        reason: 'InstanceDeletionInProgress',
        message: 'CustomResource deletion is in progress',
      })
      const registry = this.#registryOf(name)
      if (registry === undefined) {
        await this.#finish(name, { status: 'False', reason: 'NeverEstablished', message: 'resource was never established' })
        return
      }
      await deleteAll(registry)
      this.#waitUntilEmpty(name, registry, cleaning)
    } catch (error) {
      if (isNotFound(error)) return
      logger.warn('failed to delete instances of CustomResourceDefinition', { definition: name, error: String(error) })
      const timer = clock.after(retryMs, () => {
        this.#retries.delete(timer)
        void this.#begin(name, cleaning)
      })
      this.#retries.add(timer)
    }
  }

  #waitUntilEmpty(name: string, { cache }: ResourceRegistry, cleaning: Cleaning): void {
    const { clock } = this.#options
    const done = { status: 'False', reason: 'InstanceDeletionCompleted', message: 'removed all instances' }
    const look = () => {
      if (cleaning.isOver || cache.size > 0) return
      cleaning.watching?.[Symbol.dispose]()
      cleaning.timer?.cancel()
      clock.soon(() => void this.#finish(name, done))
    }
    cleaning.watching = cache.watch(cache.revision, { onChange: look, onEnd: look })
    cleaning.timer = clock.after(patienceMs, () => {
      const message = 'could not confirm zero CustomResources remaining: context deadline exceeded'
      // A condition for whoever looks; the instances are waited for all the same.
      void this.#tell(name, { status: 'True', reason: 'InstanceDeletionCheck', message }).catch(() => {})
    })
    look()
  }

  async #finish(name: string, condition: Omit<DefinitionCondition, 'type'>): Promise<void> {
    try {
      await this.#tell(name, condition, true)
    } catch (error) {
      if (!isNotFound(error))
        this.#options.logger.warn('failed to remove finalizer of CustomResourceDefinition', { definition: name, error: String(error) })
    }
    this.forget(name)
  }

  #registryOf(name: string): ResourceRegistry | undefined {
    const [kind] = this.#options.kindsOf(name)
    return kind && this.#options.registries.find(kind.group, kind.version, kind.plural)?.registry
  }

  /** Writes until nobody comes in between. */
  async #tell(name: string, condition: Omit<DefinitionCondition, 'type'>, releases = false): Promise<void> {
    const { registries, clock, changeStatus } = this.#options
    for (;;) {
      const { object: found } = await registries.of(CustomResourceDefinition).get('', name)
      try {
        await changeStatus(found, (next) => {
          const conditions = withDefinitionCondition(
            next.status?.conditions ?? [],
            { type: 'Terminating', ...condition },
            formatTime(clock.now()),
          )
          const finalizers = (next.metadata.finalizers ?? []).filter((each) => !releases || each !== cleanupFinalizer)
          const { finalizers: _, ...metadata } = next.metadata
          return {
            ...next,
            metadata: { ...metadata, ...omitEmpty({ finalizers }) },
            status: { ...next.status, conditions },
          }
        })
        return
      } catch (error) {
        if (!isReason(error, 'Conflict')) throw error
      }
    }
  }
}

async function deleteAll(registry: ResourceRegistry): Promise<void> {
  await registry.cache.fresh()
  for (const { namespace, name } of registry.cache.list('')) {
    await registry.delete(name, {}, serverContext(registry.definition, namespace)).catch(ignoreNotFound)
  }
}

/** What a first delete makes of a definition: it stays until its objects are gone. */
export function markedForDeletion(definition: V1CustomResourceDefinition, nowMs: number): V1CustomResourceDefinition {
  const now = formatTime(nowMs)
  const { finalizers = [], ...metadata } = definition.metadata
  const message = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon'
  const condition = { type: 'Terminating', status: 'True', reason: 'InstanceDeletionPending', message }
  return {
    ...definition,
    metadata: {
      ...metadata,
      deletionTimestamp: now,
      finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
    },
    status: { ...definition.status, conditions: withDefinitionCondition(definition.status?.conditions ?? [], condition, now) },
  }
}
