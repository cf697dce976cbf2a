/** `kubectl rollout pause|resume|restart|status|history|undo` */

import { formatTime } from '#api/meta/time.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { type Found, findInfos } from '#cli/resources/find-infos.ts'
import type { Info } from '#cli/resources/info.ts'
import { hasManifests } from '#cli/resources/read-manifests.ts'
import { changeObject, podTemplateOf } from '#cli/rollout/pod-template.ts'
import { rolloutStatus } from '#cli/rollout/rollout-status.ts'
import { resourceText } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

async function targets(call: Call): Promise<Found> {
  if (call.args.length === 0 && !hasManifests(call)) throw new CliError('required resource not specified')
  const found = await findInfos(call, { typeAloneIsEnough: true })
  if (found.infos.length === 0 && found.errors.length === 0)
    call.host.complain(`No resources found in ${await call.session.namespace()} namespace.\n`)
  return found
}

type Change = { operation: string; isUnable(info: Info): string | undefined; change(object: ApiObject): void; already: string }

async function changeAll(call: Call, { operation, isUnable, change, already }: Change): Promise<void> {
  const { host } = call
  const { infos, errors } = await targets(call)
  const dryRun = dryRunOf(call)
  for (const info of infos) {
    try {
      const refusal = isUnable(info)
      if (refusal !== undefined) throw new CliError(refusal)
      const object = await changeObject(call, info, change)
      const said = object === undefined ? already : operation
      host.write((await resultPrinter(call, said, dryRunSuffix(dryRun)))(object ?? info.object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

const kindText = ({ type }: Info): string => resourceText(type)

const isPaused = ({ object }: Info): boolean => (object['spec'] as { paused?: boolean } | undefined)?.paused === true

export const pause = (call: Call): Promise<void> =>
  changeAll(call, {
    operation: 'paused',
    already: 'paused',
    isUnable: (info) =>
      info.type.kind !== 'Deployment'
        ? `${kindText(info)} ${JSON.stringify(info.name)} pausing is not supported`
        : isPaused(info)
          ? `${kindText(info)} ${JSON.stringify(info.name)} is already paused`
          : undefined,
    change: (object) => Object.assign(object['spec'] as object, { paused: true }),
  })

export const resume = (call: Call): Promise<void> =>
  changeAll(call, {
    operation: 'resumed',
    already: 'resumed',
    isUnable: (info) =>
      info.type.kind !== 'Deployment'
        ? `${kindText(info)} ${JSON.stringify(info.name)} resuming is not supported`
        : isPaused(info)
          ? undefined
          : `${kindText(info)} ${JSON.stringify(info.name)} is not paused`,
    change: (object) => void delete (object['spec'] as { paused?: boolean }).paused,
  })

export const restart = (call: Call): Promise<void> =>
  changeAll(call, {
    operation: 'restarted',
    already: 'restarted',
    isUnable(info) {
      if (!['Deployment', 'DaemonSet', 'StatefulSet'].includes(info.type.kind))
        return `${kindText(info)} ${JSON.stringify(info.name)} restarting is not supported`
      return isPaused(info)
        ? `${kindText(info)} ${JSON.stringify(info.name)} can't restart paused deployment (run rollout resume first)`
        : undefined
    },
    change(object) {
      const template = podTemplateOf(object)
      if (template === undefined) return
      template.metadata = {
        ...template.metadata,
        annotations: { ...template.metadata?.annotations, 'kubectl.kubernetes.io/restartedAt': formatTime(call.host.clock.now()) },
      }
    },
  })

export async function status(call: Call): Promise<void> {
  const { flags } = call
  const { infos, errors } = await targets(call)
  const revision = flags.number('revision')
  if (revision < 0) throw new CliError(`revision must be a positive integer: ${revision}`)
  for (const info of infos) {
    try {
      await followStatus(call, info, revision)
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

async function followStatus(call: Call, info: Info, revision: number): Promise<void> {
  const { host, flags } = call
  const show = (object: ApiObject): boolean => {
    const { text, isDone } = rolloutStatus(object, revision)
    host.write(text)
    return isDone
  }
  if (!['Deployment', 'DaemonSet', 'StatefulSet'].includes(info.type.kind))
    throw new CliError(`no status viewer has been implemented for ${info.type.kind}`)
  if (show(info.object) || !flags.isOn('watch')) return
  const limitMs = flags.durationMs('timeout')
  const limit = new AbortController()
  using _timer = host.clock.after(limitMs === 0 ? 168 * 3_600_000 : limitMs, () => limit.abort())
  const { watchEvents } = await import('./get-watch.ts')
  const target = { type: info.type, namespace: info.namespace, name: info.name, selector: '', fieldSelector: '' }
  try {
    for await (const event of watchEvents(call, target, {
      resourceVersion: info.object.metadata?.resourceVersion ?? '',
      signal: AbortSignal.any([limit.signal, host.interrupted]),
    })) {
      if (event.type === 'DELETED') throw new CliError('object has been deleted')
      if (show(event.object)) return
    }
  } catch (error) {
    if (limit.signal.aborted) throw new CliError('timed out waiting for the condition')
    if (error instanceof ApiError || !host.interrupted.aborted) throw error
  }
}

export async function history(call: Call): Promise<void> {
  const { host, flags } = call
  const { infos, errors } = await targets(call)
  const revision = flags.number('revision')
  if (revision < 0) throw new CliError(`revision must be a positive integer: ${revision}`)
  const { historyText, revisionsOf } = await import('#cli/rollout/revisions.ts')
  const output = flags.text('output')
  for (const info of infos) {
    try {
      if (output !== '') {
        const { printerFor } = await import('#cli/print/printer.ts')
        const printer = await printerFor(call)
        const revisions = await revisionsOf(call, info)
        const chosen = revision > 0 ? revisions.filter((each) => each.revision === revision) : revisions
        if (chosen.length === 0) throw new CliError(revision > 0 ? `unable to find the specified revision` : 'No rollout history found.')
        for (const { object } of chosen) host.write(printer?.(object) ?? '')
        continue
      }
      const text = await historyText(call, info, revision)
      const withRevision = revision > 0 ? ` with revision #${revision}` : ''
      const { singularText } = await import('#cli/session/resource-types.ts')
      host.write(`${singularText(info.type)}/${info.name}${withRevision} 
${text}
`)
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

export async function undo(call: Call): Promise<void> {
  const { host, flags } = call
  const { infos, errors } = await targets(call)
  const { rollBack } = await import('#cli/rollout/revisions.ts')
  const dryRun = dryRunOf(call)
  for (const info of infos) {
    try {
      const result = await rollBack(call, info, flags.number('to-revision'))
      host.write((await resultPrinter(call, result, dryRunSuffix(dryRun)))(info.object))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}
