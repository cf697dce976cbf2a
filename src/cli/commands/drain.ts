/** `kubectl drain` */

import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseLabelSelector } from '#api/meta/selector.ts'
import { defined } from '#base/defined.ts'
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, PlainError, throwAll } from '#cli/cli-error.ts'
import { namePrinter } from '#cli/print/printer.ts'
import type { Info } from '#cli/resources/info.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'
import { cordonNode, namedNodes } from './cordon.ts'

type PodDeleteStatus = { isDeleted: boolean; warning?: string; error?: string }

const retryMs = 5000

export async function drain(call: Call): Promise<void> {
  const { host, flags } = call
  const selector = flags.text('pod-selector')
  if (selector !== '') {
    try {
      parseLabelSelector(selector)
    } catch {
      throw new CliError('--pod-selector=<pod_selector> must be a valid label selector')
    }
  }
  const { infos, errors } = await namedNodes(call)
  const dryRun = dryRunOf(call)
  for (const info of infos) await cordonNode(call, info, true, errors)
  const failed: string[] = []
  for (const [index, info] of infos.entries()) {
    try {
      await drainNode(call, info)
      host.write(namePrinter({ operation: 'drained', suffix: dryRunSuffix(dryRun) })(info.object))
    } catch (error) {
      host.complain(
        `error: unable to drain node ${JSON.stringify(info.name)} due to error: ${(error as Error).message}, continuing command...\n`,
      )
      failed.push(...infos.slice(index, index + 1).map(({ name }) => name))
      errors.push(new PlainError((error as Error).message))
    }
  }
  if (failed.length > 0) host.complain(`There are pending nodes to be drained:\n${failed.map((name) => ` ${name}\n`).join('')}`)
  throwAll(errors)
}

async function drainNode(call: Call, node: Info): Promise<void> {
  const { host, flags, session } = call
  const rest = await session.rest
  const list = await rest.json<{ items: V1Pod[] }>({
    path: '/api/v1/pods',
    query: {
      fieldSelector: `spec.nodeName=${node.name}`,
      labelSelector: flags.text('pod-selector'),
      limit: flags.number('chunk-size') || undefined,
    },
  })
  const podDeletes = await Promise.all(list.items.map(async (pod) => ({ pod, status: await deleteStatusOf(call, pod) })))
  const errors = grouped(podDeletes, ({ error }) => error).map(([message, pods]) => new CliError(`cannot delete ${message}: ${pods}`))
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new CliError(`[${errors.map(({ message }) => message).join(', ')}]`)
  const warnings = grouped(podDeletes, ({ warning }) => warning).map(([message, pods]) => `${message}: ${pods}`)
  if (warnings.length > 0) host.complain(`Warning: ${warnings.join('; ')}\n`)
  const pods = podDeletes.filter(({ status }) => status.isDeleted).map(({ pod }) => pod)
  const dryRun = dryRunOf(call)
  if (dryRun === 'client') {
    for (const { metadata } of pods) host.write(`evicting pod ${metadata?.namespace}/${metadata?.name} (dry run)\n`)
    return
  }
  const limitMs = flags.durationMs('timeout')
  const untilMs = limitMs === 0 ? Number.POSITIVE_INFINITY : host.clock.monotonic() + limitMs
  const results = await Promise.allSettled(pods.map((pod) => removePod(call, pod, untilMs, dryRun === 'server')))
  throwAll(results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown))
}

function grouped(
  podDeletes: readonly { pod: V1Pod; status: PodDeleteStatus }[],
  by: (status: PodDeleteStatus) => string | undefined,
): [string, string][] {
  const groups = new Map<string, string[]>()
  for (const { pod, status } of podDeletes) {
    const key = by(status)
    if (key !== undefined) groups.set(key, [...(groups.get(key) ?? []), `${pod.metadata?.namespace}/${pod.metadata?.name}`])
  }
  return [...groups].map(([key, names]) => [key, names.join(', ')])
}

/** Each rule may refuse the pod, leave it, or let it go with a warning; the last warning counts. */
async function deleteStatusOf({ flags, host, session }: Call, pod: V1Pod): Promise<PodDeleteStatus> {
  const { metadata, spec, status } = pod
  const isForced = flags.isOn('force')
  const skipSeconds = flags.number('skip-wait-for-delete-timeout')
  const deletedAt = metadata?.deletionTimestamp
  if (skipSeconds > 0 && deletedAt && (host.clock.now() - Date.parse(deletedAt)) / 1000 > skipSeconds) return { isDeleted: false }
  const isFinished = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller)
  let warning: string | undefined
  if (owner?.kind === 'DaemonSet' && !isFinished) {
    const rest = await session.rest
    try {
      await rest.json({ path: `/apis/apps/v1/namespaces/${metadata?.namespace}/daemonsets/${owner.name}` })
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound && isForced) return { isDeleted: true, warning: error.message }
      return { isDeleted: false, error: (error as Error).message }
    }
    if (!flags.isOn('ignore-daemonsets')) return { isDeleted: false, error: 'DaemonSet-managed Pods (use --ignore-daemonsets to ignore)' }
    return { isDeleted: false, warning: 'ignoring DaemonSet-managed Pods' }
  }
  if (metadata?.annotations?.['kubernetes.io/config.mirror'] !== undefined) return { isDeleted: false }
  if (!isFinished && spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined)) {
    if (!flags.isOn('delete-emptydir-data'))
      return { isDeleted: false, error: 'Pods with local storage (use --delete-emptydir-data to override)' }
    warning = 'deleting Pods with local storage'
  }
  if (!isFinished && owner === undefined) {
    if (!isForced) return { isDeleted: false, error: 'Pods that declare no controller (use --force to override)' }
    warning = 'deleting Pods that declare no controller'
  }
  return { isDeleted: true, ...defined({ warning }) }
}

async function removePod(call: Call, pod: V1Pod, untilMs: number, isServerDry: boolean): Promise<void> {
  const { host, flags, session } = call
  const rest = await session.rest
  const { namespace = '', name = '', uid } = pod.metadata ?? {}
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`
  const grace = flags.number('grace-period')
  const deleteOptions = defined({ gracePeriodSeconds: grace >= 0 ? grace : undefined, dryRun: isServerDry ? ['All'] : undefined })
  const isEviction = !flags.isOn('disable-eviction')
  for (;;) {
    if (isEviction) host.write(`evicting pod ${namespace}/${name}${isServerDry ? ' (server dry run)' : ''}\n`)
    if (host.clock.monotonic() > untilMs)
      throw new CliError(
        `error when evicting pods/${JSON.stringify(name)} -n ${JSON.stringify(namespace)}: global timeout reached: ${flags.text('timeout')}`,
      )
    try {
      if (isEviction)
        await rest.json({
          method: 'POST',
          path: `${path}/eviction`,
          body: { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name, namespace }, deleteOptions },
        })
      else await rest.json({ method: 'DELETE', path, body: deleteOptions })
      break
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.isNotFound) return
      const isTerminating = error.status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') ?? false
      if (error.status.reason === 'TooManyRequests')
        host.complain(
          `error when evicting pods/${JSON.stringify(name)} -n ${JSON.stringify(namespace)} (will retry after 5s): ${error.message}\n`,
        )
      else if (isTerminating)
        host.complain(
          `error when evicting pod ${JSON.stringify(name)} from terminating namespace ${JSON.stringify(namespace)} (will retry after 5s): ${error.message}\n`,
        )
      else throw new CliError(`error when evicting pods/${JSON.stringify(name)} -n ${JSON.stringify(namespace)}: ${error.message}`)
      await host.clock.sleep(retryMs, host.interrupted)
    }
  }
  if (isServerDry) return
  for (;;) {
    try {
      const live = await rest.json<V1Pod>({ path })
      if (live.metadata?.uid !== uid) break
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) break
      throw error
    }
    if (host.clock.monotonic() > untilMs)
      throw new CliError(
        `error when waiting for pod ${JSON.stringify(name)} in namespace ${JSON.stringify(namespace)} to terminate: global timeout reached: ${flags.text('timeout')}`,
      )
    await host.clock.sleep(500, host.interrupted)
  }
  host.write(`pod/${name} ${isEviction ? 'evicted' : 'deleted'}\n`)
}
