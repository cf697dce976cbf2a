/** `kubectl delete` */
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { infoOfObject, listAll } from '#cli/resources/find-infos.ts'
import { type Info, infoPath, infoText } from '#cli/resources/info.ts'
import { hasManifests, readManifests } from '#cli/resources/read-manifests.ts'
import { selectFlags, selectResources } from '#cli/resources/select-resources.ts'
import { singularText } from '#cli/session/resource-types.ts'
import { type DryRun, dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

export async function deleteCommand(call: Call): Promise<void> {
  const { flags, host } = call
  if (flags.text('raw') !== '') return deleteRaw(call)
  const options = deleteOptions(call)
  const output = flags.text('output')
  if (output !== '' && output !== 'name') throw new CliError(`unexpected -o output mode: ${output}. We only support '-o name'`)
  if (flags.isOn('now') && options.grace > 0 && flags.isSet('grace-period'))
    throw new CliError('--now and --grace-period cannot be specified together')
  const dryRun = dryRunOf(call)
  const { infos, errors } = await targets(call)
  if (flags.isOn('interactive') && dryRun === 'none' && infos.length > 0 && !(await isConfirmed(call, infos))) {
    host.write('deletion is cancelled\n')
    return
  }
  const deleted: { info: Info; uid: string }[] = []
  for (const info of infos) {
    if (dryRun === 'client') {
      say(call, info, options, dryRun)
      continue
    }
    try {
      const uid = await deleteOne(call, info, options, dryRun)
      say(call, info, options, dryRun)
      if (dryRun === 'none') deleted.push({ info, uid })
    } catch (error) {
      if (
        !(
          error instanceof ApiError &&
          error.isNotFound &&
          (flags.isOn('ignore-not-found') || flags.isOn('all') || flags.text('selector') !== '' || flags.text('field-selector') !== '')
        )
      )
        errors.push(error instanceof ApiError && info.source !== '' ? error.during('deleting', info.source) : error)
    }
  }
  if (infos.length === 0 && errors.length === 0) {
    if (!flags.isSet('ignore-not-found') || !flags.isOn('ignore-not-found')) host.write('No resources found\n')
    return
  }
  if (flags.isOn('wait') && deleted.length > 0) await waitUntilGone(call, deleted)
  throwAll(errors)
}

type DeleteOptions = { grace: number; cascade: 'Background' | 'Foreground' | 'Orphan'; isForced: boolean }

function deleteOptions({ flags, host }: Call): DeleteOptions {
  let grace = flags.isOn('now') ? 1 : flags.number('grace-period')
  const isForced = flags.isOn('force')
  if (isForced && grace < 0) grace = 0
  if (isForced && grace === 0)
    host.complain(
      'Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.\n',
    )
  else if (isForced && grace > 0) throw new CliError('--force and --grace-period greater than 0 cannot be specified together')
  // Without force nothing is deleted at once: the least wait is a second.
  if (grace === 0 && !isForced) grace = 1
  return { grace, cascade: cascadeOf(flags.text('cascade'), (line) => host.complain(line)), isForced }
}

function cascadeOf(text: string, complain: (line: string) => void): DeleteOptions['cascade'] {
  switch (text) {
    case 'background':
      return 'Background'
    case 'foreground':
      return 'Foreground'
    case 'orphan':
      return 'Orphan'
    case 'true':
      complain('warning: --cascade=true is deprecated (boolean value) and can be replaced with --cascade=background.\n')
      return 'Background'
    case 'false':
      complain('warning: --cascade=false is deprecated (boolean value) and can be replaced with --cascade=orphan.\n')
      return 'Orphan'
    default:
      throw new CliError(`invalid cascade value (${text}). Must be "background", "foreground", or "orphan"`)
  }
}

async function deleteRaw(call: Call): Promise<void> {
  const rest = await call.session.rest
  call.host.write(await rest.text({ method: 'DELETE', path: call.flags.text('raw') }))
}

async function targets(call: Call): Promise<{ infos: Info[]; errors: unknown[] }> {
  const infos: Info[] = []
  const errors: unknown[] = []
  if (hasManifests(call) && call.args.length === 0) {
    for (const read of await readManifests(call)) {
      if ('error' in read) errors.push(read.error)
      else infos.push(read.info)
    }
    return { infos, errors }
  }
  const select = { args: call.args, ...selectFlags(call) }
  const selection = await selectResources(call, select)
  const namespace = select.allNamespaces ? '' : await call.session.namespace()
  if (selection.by === 'names')
    return {
      infos: selection.items.map(({ type, name }) => ({
        type,
        name,
        namespace: type.isNamespaced ? namespace : '',
        object: {},
        source: '',
      })),
      errors,
    }
  for (const type of selection.types) {
    try {
      const list = await listAll(call, type, {
        namespace: type.isNamespaced ? namespace : '',
        selector: select.selector ?? '',
        fieldSelector: select.fieldSelector ?? '',
      })
      infos.push(...list.items.map((item) => infoOfObject(type, item)))
    } catch (error) {
      errors.push(error)
    }
  }
  return { infos, errors }
}

/** The uid of what is being deleted, for the wait. */
async function deleteOne(call: Call, info: Info, { grace, cascade }: DeleteOptions, dryRun: DryRun): Promise<string> {
  const rest = await call.session.rest
  const body = {
    ...(grace >= 0 ? { gracePeriodSeconds: grace } : {}),
    propagationPolicy: cascade,
    ...(dryRun === 'server' ? { dryRun: ['All'] } : {}),
  }
  const answer = await rest.json<{ kind?: string; metadata?: { uid?: string }; details?: { uid?: string } }>({
    method: 'DELETE',
    path: infoPath(info),
    body,
    query: {},
  })
  return answer.kind === 'Status' ? (answer.details?.uid ?? '') : (answer.metadata?.uid ?? '')
}

function say({ flags, host }: Call, info: Info, { grace, isForced }: DeleteOptions, dryRun: DryRun): void {
  if (flags.text('output') === 'name') host.write(`${infoText(info)}\n`)
  else {
    const verb = isForced && grace === 0 ? 'force deleted' : 'deleted'
    const place = info.namespace === '' ? '' : ` from ${info.namespace} namespace`
    host.write(`${singularText(info.type)} ${JSON.stringify(info.name)} ${verb}${place}${dryRunSuffix(dryRun)}\n`)
  }
}

async function isConfirmed(call: Call, infos: readonly Info[]): Promise<boolean> {
  const { host } = call
  host.write('You are about to delete the following resource(s):\n')
  for (const info of infos) host.write(`${infoText(info)}\n`)
  host.write('Do you want to continue? (y/N): ')
  for await (const piece of host.terminal.input()) return /^y/i.test(Buffer.from(piece).toString().trim())
  return false
}

/** Gone, or replaced by another of the same name. */
async function waitUntilGone(call: Call, deleted: readonly { info: Info; uid: string }[]): Promise<void> {
  const { waitForDeletion } = await import('./wait.ts')
  const limitMs = call.flags.durationMs('timeout')
  for (const { info, uid } of deleted) {
    try {
      await waitForDeletion(call, info, uid, limitMs === 0 ? 168 * 3_600_000 : limitMs)
    } catch (error) {
      if (error instanceof ApiError && (error.status.reason === 'Forbidden' || error.status.reason === 'MethodNotAllowed')) continue
      throw error
    }
  }
}
