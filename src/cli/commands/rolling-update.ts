/** `kubectl rolling-update`: one replication controller replaced by another, pod by pod, from this side. */

import { createHash } from 'node:crypto'
import type { V1ReplicationController } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, usageError } from '#cli/cli-error.ts'
import { hasManifests, readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import type { Rest } from '#cli/session/rest.ts'

export async function rollingUpdate(call: Call): Promise<void> {
  const { args, flags, host, session } = call
  const [oldName, newName] = args
  if (oldName === undefined) throw usageError('rolling-update', 'Must specify the controller to update')
  if (!hasManifests(call) && flags.text('image') === '' && !flags.isOn('rollback'))
    throw usageError('rolling-update', 'Must specify --filename or --image for new controller')
  const updater = new Updater(await session.rest, await session.namespace(), call)
  const old = await updater.get(oldName)
  if (old === undefined) throw new CliError(`replicationcontrollers ${JSON.stringify(oldName)} not found`)
  let next = await wanted(call, updater, old, newName)
  if (next.metadata?.name === oldName)
    throw new CliError(`${oldName} cannot have the same name as the existing ReplicationController ${oldName}`)
  const existing = await updater.get(next.metadata?.name ?? '')
  if (flags.isOn('rollback')) {
    if (existing === undefined) throw new CliError(`there is no update of ${oldName} to go back from`)
    host.write('Setting up rollback\n')
    await updater.run(existing, old)
    host.write(`replicationcontroller/${oldName} rolling updated\n`)
    return
  }
  if (existing === undefined) {
    host.write(`Created ${next.metadata?.name}\n`)
    next = await updater.create(next)
  } else {
    host.write('Found existing update in progress, resuming.\n')
    next = existing
  }
  // Whoever names no new controller wants the old name to stay.
  const keepsName = newName === undefined && !hasManifests(call)
  await updater.run(old, next, { keepsName })
  host.write(`replicationcontroller/${keepsName ? oldName : next.metadata?.name} rolling updated\n`)
}

/** The new controller: of a file, or a copy of the old one with another image. */
async function wanted(
  call: Call,
  updater: Updater,
  old: V1ReplicationController,
  newName: string | undefined,
): Promise<V1ReplicationController> {
  const { flags } = call
  if (hasManifests(call)) {
    const [info] = await readManifestsStrictly(call)
    if (info?.type.kind !== 'ReplicationController') throw new CliError('-f must hold a ReplicationController')
    return info.object as unknown as V1ReplicationController
  }
  const key = flags.text('deployment-label-key')
  const image = flags.text('image')
  const hash = createHash('sha256')
    .update(JSON.stringify(old.spec?.template) + image)
    .digest('hex')
    .slice(0, 10)
  const template = structuredClone(old.spec?.template ?? {}) as NonNullable<NonNullable<V1ReplicationController['spec']>['template']>
  const containers = template.spec?.containers ?? []
  const chosen = flags.text('container') === '' ? containers[0] : containers.find(({ name }) => name === flags.text('container'))
  if (containers.length > 1 && flags.text('container') === '')
    throw new CliError('Must specify container to update when updating a multi-container pod')
  if (chosen === undefined) throw new CliError(`container ${flags.text('container')} not found in pod`)
  if (image !== '') chosen.image = image
  if (flags.text('image-pull-policy') !== '') chosen.imagePullPolicy = flags.text('image-pull-policy')
  template.metadata = { ...template.metadata, labels: { ...template.metadata?.labels, [key]: hash } }
  // The old pods must not be those of the new controller.
  await updater.labelOld(old, key)
  return {
    kind: 'ReplicationController',
    apiVersion: 'v1',
    metadata: {
      name: newName ?? `${old.metadata?.name}-${hash}`,
      ...defined({ labels: old.metadata?.labels ? old.metadata.labels : undefined }),
    },
    spec: { replicas: 0, selector: { ...old.spec?.selector, [key]: hash }, template },
  }
}

class Updater {
  readonly #rest: Rest
  readonly #call: Call
  readonly #path: string
  readonly #namespace: string

  constructor(rest: Rest, namespace: string, call: Call) {
    this.#rest = rest
    this.#call = call
    this.#namespace = namespace
    this.#path = `/api/v1/namespaces/${namespace}/replicationcontrollers`
  }

  async get(name: string): Promise<V1ReplicationController | undefined> {
    try {
      return await this.#rest.json<V1ReplicationController>({ path: `${this.#path}/${name}` })
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined
      throw error
    }
  }

  create(controller: V1ReplicationController): Promise<V1ReplicationController> {
    return this.#rest.json<V1ReplicationController>({
      method: 'POST',
      path: this.#path,
      body: { ...controller, spec: { ...controller.spec, replicas: 0 } },
    })
  }

  /** Old pods get a label of their own, and then the old controller selects by it. */
  async labelOld(old: V1ReplicationController, key: string): Promise<void> {
    if (old.spec?.selector?.[key] !== undefined) return
    const hash = createHash('sha256').update(JSON.stringify(old.spec?.template)).digest('hex').slice(0, 10)
    const labelSelector = Object.entries(old.spec?.selector ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join(',')
    const { items } = await this.#rest.json<{ items: { metadata: { name: string } }[] }>({
      path: `/api/v1/namespaces/${this.#namespace}/pods`,
      query: { labelSelector },
    })
    const patch = (path: string, body: object) =>
      this.#rest.json({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    await patch(`${this.#path}/${old.metadata?.name}`, { spec: { template: { metadata: { labels: { [key]: hash } } } } })
    for (const { metadata } of items)
      await patch(`/api/v1/namespaces/${this.#namespace}/pods/${metadata.name}`, { metadata: { labels: { [key]: hash } } })
    await patch(`${this.#path}/${old.metadata?.name}`, { spec: { selector: { [key]: hash } } })
  }

  /** One pod more of the new, one less of the old, until none is left of it. */
  async run(old: V1ReplicationController, next: V1ReplicationController, { keepsName = false } = {}): Promise<void> {
    const { flags, host } = this.#call
    const desired = Math.max(old.spec?.replicas ?? 0, next.spec?.replicas ?? 0, 1)
    let [oldCount, newCount] = [old.spec?.replicas ?? 0, next.spec?.replicas ?? 0]
    const [oldName, newName] = [old.metadata?.name ?? '', next.metadata?.name ?? '']
    host.write(
      `Scaling up ${newName} from ${newCount} to ${desired}, scaling down ${oldName} from ${oldCount} to 0 (keep ${desired} pods available, don't exceed ${desired + 1} pods)\n`,
    )
    while (newCount < desired || oldCount > 0) {
      if (newCount < desired) {
        newCount++
        host.write(`Scaling ${newName} up to ${newCount}\n`)
        await this.#scale(newName, newCount)
      }
      if (oldCount > 0) {
        oldCount--
        host.write(`Scaling ${oldName} down to ${oldCount}\n`)
        await this.#scale(oldName, oldCount)
      }
      if (newCount < desired || oldCount > 0) await host.clock.sleep(flags.durationMs('update-period'), host.interrupted)
    }
    host.write(`Update succeeded. Deleting ${keepsName ? 'old controller: ' : ''}${oldName}\n`)
    await this.#delete(oldName, 'Background')
    if (!keepsName) return
    host.write(`Renaming ${newName} to ${oldName}\n`)
    const { metadata, spec } = (await this.get(newName)) ?? next
    // Its pods stay, and are taken over by the one that selects them next.
    await this.#delete(newName, 'Orphan')
    const { labels, annotations } = metadata ?? {}
    const body = { kind: 'ReplicationController', apiVersion: 'v1', metadata: { name: oldName, ...defined({ labels, annotations }) }, spec }
    await this.#rest.json({ method: 'POST', path: this.#path, body })
  }

  /** Resolves when it is gone. */
  async #delete(name: string, propagationPolicy: 'Background' | 'Orphan'): Promise<void> {
    const { flags, host } = this.#call
    await this.#rest.json({ method: 'DELETE', path: `${this.#path}/${name}`, body: { propagationPolicy } })
    const untilMs = host.clock.monotonic() + flags.durationMs('timeout')
    while ((await this.get(name)) !== undefined) {
      if (host.clock.monotonic() > untilMs) throw new CliError(`timed out waiting for ${name} to go`)
      await host.clock.sleep(Math.min(500, flags.durationMs('poll-interval')), host.interrupted)
    }
  }

  async #scale(name: string, replicas: number): Promise<void> {
    const { flags, host } = this.#call
    await this.#rest.json({
      method: 'PATCH',
      path: `${this.#path}/${name}`,
      contentType: 'application/merge-patch+json',
      body: { spec: { replicas } },
    })
    const untilMs = host.clock.monotonic() + flags.durationMs('timeout')
    for (;;) {
      const now = await this.get(name)
      if ((now?.status?.replicas ?? 0) === replicas && (now?.status?.readyReplicas ?? 0) === replicas) return
      if (host.clock.monotonic() > untilMs) throw new CliError(`timed out waiting for ${replicas} pods of ${name}`)
      await host.clock.sleep(Math.min(500, flags.durationMs('poll-interval')), host.interrupted)
    }
  }
}
