/** `kubectl delete` */
import { defined } from '#base/defined.ts'
import type { Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { infoOfObject, listAll } from '#cli/resources/find-infos.ts'
import { type Info, infoPath, infoText } from '#cli/resources/info.ts'
import { checkPaths, hasManifests, type ReadManifest, readManifests } from '#cli/resources/read-manifests.ts'
import { selectFlags, selectResources } from '#cli/resources/select-resources.ts'
import { selectorTest } from '#cli/resources/selector-test.ts'
import { singularText } from '#cli/session/resource-types.ts'
import { type Cascade, cascadeOf, type DryRun, dryRunOf, dryRunSuffix } from '#cli/write-options.ts'
import { checkOneFile, checkRawPath, sendRaw } from './raw-request.ts'

const weekMs = 168 * 3_600_000

export async function deleteCommand(call: Call): Promise<void> {
  const { flags, host } = call
  const cascade = cascadeOf(flags.text('cascade'), (line) => host.complain(line))
  const grace = graceOf(call)
  const dryRun = dryRunOf(call)
  const isRaw = flags.text('raw') !== ''
  if (!isRaw) await checkTargets(call)
  const output = flags.text('output')
  if (output !== '' && output !== 'name') throw new CliError(`unexpected -o output mode: ${output}. We only support '-o name'`)
  if (flags.isOn('force')) warnOfForce(call, grace)
  if (isRaw) return deleteRaw(call)
  const options: DeleteOptions = { grace, cascade }
  const { found, errors: refusals } = await targets(call)
  const infos = found.flatMap((each) => ('info' in each ? [each.info] : []))
  if (flags.isOn('interactive')) {
    throwAll(refusals)
    if (infos.length > 0 && !(await isConfirmed(call, infos))) {
      host.write('deletion is cancelled\n')
      return
    }
  }
  const { isNamespaceGiven } = await call.session.context
  if (isNamespaceGiven && !flags.isOn('all-namespaces') && infos.some(({ type }) => !type.isNamespaced))
    host.complain('Warning: deleting cluster-scoped resources, not scoped to the provided namespace\n')
  const errors: unknown[] = []
  const deleted: { info: Info; uid: string }[] = []
  for (const each of found) {
    if ('error' in each) {
      errors.push(each.error)
      continue
    }
    const { info } = each
    if (dryRun === 'client') {
      say(call, info, options, dryRun)
      continue
    }
    try {
      const uid = await deleteOne(call, info, options, dryRun)
      say(call, info, options, dryRun)
      if (dryRun === 'none') deleted.push({ info, uid })
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound && ignoresNotFound(call))) errors.push(withSource(error, info))
    }
  }
  throwAll(errors)
  if (infos.length === 0) host.write('No resources found\n')
  else if (flags.isOn('wait') && deleted.length > 0) await waitUntilGone(call, deleted)
}

function withSource(error: unknown, { source }: Info): unknown {
  if (source === '') return error
  if (error instanceof ApiError) return error.during('deleting', source)
  return error instanceof CliError ? new CliError(`error when deleting ${JSON.stringify(source)}: ${error.message}`) : error
}

/** What is selected by anything but its name may be gone before its turn comes. */
function ignoresNotFound({ flags }: Call): boolean {
  if (flags.isSet('ignore-not-found')) return flags.isOn('ignore-not-found')
  return flags.isOn('all') || flags.text('selector') !== '' || flags.text('field-selector') !== ''
}

type DeleteOptions = { grace: number; cascade: Cascade }

/** In seconds; below zero the object decides. */
function graceOf({ flags }: Call): number {
  const given = flags.number('grace-period')
  if (flags.isOn('now') && given !== -1) throw new CliError('--now and --grace-period cannot be specified together')
  const grace = flags.isOn('now') ? 1 : given
  if (flags.isOn('force')) return Math.max(0, grace)
  // Without force nothing is deleted at once: the least wait is a second.
  return grace === 0 ? 1 : grace
}

function warnOfForce({ host }: Call, grace: number): void {
  if (grace > 0) throw new CliError('--force and --grace-period greater than 0 cannot be specified together')
  host.complain(
    'Warning: Immediate deletion does not wait for confirmation that the running resource has been terminated. The resource may continue to run on the cluster indefinitely.\n',
  )
}

async function deleteRaw(call: Call): Promise<void> {
  const { flags } = call
  if (flags.isOn('interactive')) throw new CliError('--interactive can not be used with --raw')
  if (flags.list('filename').length > 0) checkOneFile(call)
  if (flags.isOn('recursive')) throw new CliError('--raw and --recursive are mutually exclusive')
  if (flags.text('output') !== '') throw new CliError('--raw and --output are mutually exclusive')
  checkRawPath(flags.text('raw'))
  await sendRaw(call, 'DELETE')
}

const selectOf = (call: Call) => ({ args: call.args, ...selectFlags(call), allExcludesNames: true })

/** What is wrong with the arguments is told before what is wrong with other flags. */
async function checkTargets(call: Call): Promise<void> {
  if (hasManifests(call) && call.args.length === 0) {
    if (call.flags.isOn('all') && (call.flags.text('selector') !== '' || call.flags.text('field-selector') !== ''))
      throw new CliError("setting 'all' parameter but found a non empty selector. ")
    await checkPaths(call)
  } else await selectResources(call, selectOf(call))
}

async function targets(call: Call): Promise<{ found: ReadManifest[]; errors: unknown[] }> {
  const found = await foundOf(call)
  return { found, errors: found.flatMap((each) => ('error' in each ? [each.error] : [])) }
}

async function foundOf(call: Call): Promise<ReadManifest[]> {
  const select = selectOf(call)
  if (hasManifests(call) && call.args.length === 0) {
    const isWanted = selectorTest(select.selector ?? '')
    return (await readManifests(call)).filter((each) => 'error' in each || isWanted(each.info.object))
  }
  const selection = await selectResources(call, select)
  const namespace = select.allNamespaces ? '' : await call.session.namespace()
  if (selection.by === 'names')
    return selection.items.map(({ type, name }) => ({
      info: { type, name, namespace: type.isNamespaced ? namespace : '', object: {}, source: '' },
    }))
  const found: ReadManifest[] = []
  for (const type of selection.types) {
    try {
      const list = await listAll(call, type, {
        namespace: type.isNamespaced ? namespace : '',
        selector: select.selector ?? '',
        fieldSelector: select.fieldSelector ?? '',
      })
      for (const item of list.items) found.push({ info: infoOfObject(type, item) })
    } catch (error) {
      found.push({ error })
    }
  }
  return found
}

/** The uid of what is being deleted, for the wait. */
async function deleteOne(call: Call, info: Info, { grace, cascade }: DeleteOptions, dryRun: DryRun): Promise<string> {
  const rest = await call.session.rest
  const body = {
    ...defined({ gracePeriodSeconds: grace >= 0 ? grace : undefined }),
    propagationPolicy: cascade,
    ...defined({ dryRun: dryRun === 'server' ? ['All'] : undefined }),
  }
  const answer = await rest.json<{ kind?: string; metadata?: { uid?: string }; details?: { uid?: string } }>({
    method: 'DELETE',
    path: infoPath(info),
    body,
    query: {},
  })
  return answer.kind === 'Status' ? (answer.details?.uid ?? '') : (answer.metadata?.uid ?? '')
}

function say({ flags, host }: Call, info: Info, { grace }: DeleteOptions, dryRun: DryRun): void {
  if (flags.text('output') === 'name') host.write(`${infoText(info)}\n`)
  else {
    const verb = grace === 0 ? 'force deleted' : 'deleted'
    const place = info.namespace === '' ? '' : ` from ${info.namespace} namespace`
    host.write(`${singularText(info.type)} ${JSON.stringify(info.name)} ${verb}${place}${dryRunSuffix(dryRun)}\n`)
  }
}

async function isConfirmed(call: Call, infos: readonly Info[]): Promise<boolean> {
  const { host } = call
  host.write(`You are about to delete the following ${infos.length} resource(s):\n`)
  for (const info of infos) host.write(`${infoText(info)}\n`)
  host.write('Do you want to continue? (y/N): ')
  for await (const piece of host.terminal.input()) return /^[ \t]*y[ \t]*(\r?\n|$)/i.test(Buffer.from(piece).toString())
  return false
}

/** Gone, or replaced by another of the same name. */
async function waitUntilGone(call: Call, deleted: readonly { info: Info; uid: string }[]): Promise<void> {
  const { waitForDeletion } = await import('./wait.ts')
  const limitMs = call.flags.durationMs('timeout')
  const deadlineMs = call.host.clock.monotonic() + (limitMs === 0 ? weekMs : limitMs)
  for (const { info, uid } of deleted) {
    try {
      await waitForDeletion(call, info, uid, deadlineMs)
    } catch (error) {
      if (error instanceof ApiError && (error.status.reason === 'Forbidden' || error.status.reason === 'MethodNotAllowed')) continue
      throw error
    }
  }
}
