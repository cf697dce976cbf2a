/** `kubectl apply` */
import type { ApplySet } from '#cli/apply/apply-set.ts'
import { applyPatchFor, contentTypes, isEmptyPatch, PatchFailure, patchLive } from '#cli/apply/patch-object.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll, usageError } from '#cli/cli-error.ts'
import type { Flags } from '#cli/flags/flags.ts'
import { namePrinter, printerFor } from '#cli/print/printer.ts'
import { fetchInfo, type Info, infoPath } from '#cli/resources/info.ts'
import { readManifests, requireManifests } from '#cli/resources/read-manifests.ts'
import { selectorTest } from '#cli/resources/selector-test.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import {
  cascadeOf,
  type DryRun,
  dryRunOf,
  dryRunSuffix,
  goJson,
  lastAppliedName,
  lastAppliedOf,
  withLastApplied,
  writeQuery,
} from '#cli/write-options.ts'

const clientSideManager = 'kubectl-client-side-apply'

export async function apply(call: Call): Promise<void> {
  const { flags, host } = call
  if (call.args.length > 0) throw usageError('apply', `Unexpected args: [${call.args.join(' ')}]`)
  requireManifests(call)
  const isServerSide = flags.isOn('server-side')
  const dryRun = dryRunOf(call)
  cascadeOf(flags.text('cascade'), (line) => host.complain(line))
  checkFlags(call, isServerSide, dryRun)
  const set = flags.text('applyset') === '' ? undefined : await applySetOf(call, dryRun)
  const objectPrinter = flags.text('output') === 'name' ? undefined : await printerFor(call)
  const errors: unknown[] = []
  const applied: Info[] = []
  const isWanted = selectorTest(flags.text('selector'))
  if (flags.isOn('prune') && set === undefined) await (await import('#cli/apply/prune.ts')).prunedTypes(call)
  const infos = await readManifests(call)
  // What cannot be read is told before what the server refuses.
  for (const read of infos) if ('error' in read) errors.push(read.error)
  if (set !== undefined) {
    const members = infos.flatMap((each) => ('info' in each ? [each.info] : []))
    set.label(members)
    if (members.length > 0) await set.begin(members)
  }
  let count = 0
  for (const read of infos) {
    if ('error' in read || !isWanted(read.info.object)) continue
    count++
    try {
      const { object, operation } = isServerSide
        ? await applyServerSide(call, read.info, dryRun)
        : await applyClientSide(call, read.info, dryRun, objectPrinter !== undefined)
      applied.push({ ...read.info, object })
      if (objectPrinter === undefined)
        host.write(namePrinter(flags.text('output') === 'name' ? {} : { operation, suffix: dryRunSuffix(dryRun) })(object))
    } catch (error) {
      errors.push(error)
    }
  }
  if (count === 0 && errors.length === 0) throw new CliError('no objects passed to apply')
  if (objectPrinter !== undefined && applied.length > 0) {
    const objects = applied.map(({ object }) => object)
    host.write(
      objectPrinter(
        objects.length === 1 ? (objects[0] as ApiObject) : ({ apiVersion: 'v1', items: objects, kind: 'List', metadata: {} } as ApiObject),
      ),
    )
  }
  throwAll(errors)
  if (set !== undefined) await set.prune(applied)
  else if (flags.isOn('prune')) {
    const { prune } = await import('#cli/apply/prune.ts')
    await prune(call, applied, dryRun)
  }
}

function checkFlags({ flags }: Call, isServerSide: boolean, dryRun: DryRun): void {
  if (flags.text('subresource') !== '' && !isServerSide) throw new CliError('--subresource can only be specified for --server-side')
  if (flags.isOn('force-conflicts') && !isServerSide) throw new CliError('--force-conflicts only works with --server-side')
  if (dryRun === 'client' && isServerSide)
    throw new CliError("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")
  if (flags.isOn('force') && isServerSide) throw new CliError('--force cannot be used with --server-side')
  if (flags.isOn('all') && flags.text('selector') !== '') throw new CliError('cannot set --all and --selector at the same time')
  if (flags.text('applyset') !== '') checkSetFlags(flags)
  if (flags.isOn('prune') && flags.isOn('force')) throw new CliError('--force cannot be used with --prune')
  if (flags.isOn('prune') && !flags.isOn('all') && flags.text('selector') === '' && flags.text('applyset') === '')
    throw new CliError(
      'all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. If you did not mean to prune all resources, specify a label selector',
    )
  if (flags.isOn('prune') && isServerSide && flags.text('applyset') === '')
    throw new CliError("--prune is in alpha and doesn't currently work on objects created by server-side apply")
  if (dryRun === 'server' && flags.isOn('force')) throw new CliError('--dry-run=server cannot be used with --force')
}

function checkSetFlags(flags: Flags): void {
  if (!flags.isOn('prune')) throw new CliError('--applyset requires --prune')
  if (flags.isOn('all')) throw new CliError('--all is incompatible with --applyset')
  if (flags.text('selector') !== '') throw new CliError('--selector is incompatible with --applyset')
  if (flags.list('prune-allowlist').length > 0) throw new CliError('--prune-allowlist is incompatible with --applyset')
}

async function applySetOf(call: Call, dryRun: DryRun): Promise<ApplySet> {
  const { ApplySet } = await import('#cli/apply/apply-set.ts')
  const set = await ApplySet.of(call, call.flags.text('applyset'), dryRun)
  await set.validate()
  return set
}

async function applyClientSide(
  call: Call,
  info: Info,
  dryRun: DryRun,
  printsObjects: boolean,
): Promise<{ object: ApiObject; operation: string }> {
  const { flags, host, session } = call
  const rest = await session.rest
  const query = writeQuery(call, dryRun)
  if (info.name === '' && info.object.metadata?.generateName)
    throw new CliError(`from ${info.object.metadata.generateName}: cannot use generate name with apply`)
  // Asked for without a name, all of them would be got.
  if (info.name === '')
    throw new CliError(
      `error when retrieving current configuration of:\n${describedInfo(info)}\nfrom server for: ${JSON.stringify(info.source)}: resource name may not be empty`,
    )
  let live: ApiObject
  try {
    live = await fetchInfo(rest, info)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (!error.isNotFound)
      throw wrapped(error, `retrieving current configuration of:\n${describedInfo(info)}\nfrom server for:`, info.source)
    const wanted = withLastApplied(info.object)
    if (dryRun === 'client') return { object: wanted, operation: 'created' }
    try {
      return {
        object: await rest.json<ApiObject>({ method: 'POST', path: resourcePath(info.type, info.namespace), query, body: wanted }),
        operation: 'created',
      }
    } catch (refusal) {
      throw refusal instanceof ApiError ? refusal.during('creating', info.source) : refusal
    }
  }
  if (lastAppliedOf(live) === undefined)
    host.complain(
      `Warning: resource ${info.type.plural}/${info.name} is missing the ${lastAppliedName} annotation which is required by kubectl apply. kubectl apply should only be used on resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.\n`,
    )
  if (dryRun === 'client') {
    const patch = applyPatchFor(info, live, { overwrites: flags.isOn('overwrite') })
    if (isEmptyPatch(patch)) return { object: live, operation: printsObjects ? 'configured' : 'unchanged' }
    const { locallyPatched } = await import('#cli/apply/local-patch.ts')
    return { object: locallyPatched(live, patch.type, patch.body), operation: 'configured' }
  }
  try {
    const options = {
      query,
      overwrites: flags.isOn('overwrite'),
      isForced: flags.isOn('force'),
      forceQuery: {
        grace: flags.isOn('force') && !flags.isSet('grace-period') ? 0 : flags.number('grace-period'),
        cascade: cascadeOf(flags.text('cascade'), () => {}),
      },
    }
    const { object, patch } = await patchLive(call, info, live, options)
    if (object.metadata?.deletionTimestamp)
      host.complain(`Warning: Detected changes to resource ${info.name} which is currently being deleted.\n`)
    return { object, operation: isEmptyPatch(patch) && !printsObjects ? 'unchanged' : 'configured' }
  } catch (error) {
    if (!(error instanceof PatchFailure)) throw error
    throw wrapped(error.refusal, `applying patch:\n${goJson(error.patch.body)}\nto:\n${describedInfo(info)}\nfor:`, info.source)
  }
}

function wrapped(error: ApiError, doing: string, source: string): ApiError {
  const message = `error when ${doing} ${JSON.stringify(source)}: ${error.message}`
  return new ApiError({ ...error.status, message }, message)
}

/** As messages name it. */
export function describedInfo({ type, name, namespace }: Info): string {
  const version = `${type.group}/${type.version}`
  return `Resource: "${version}, Resource=${type.plural}", GroupVersionKind: "${version}, Kind=${type.kind}"\nName: ${JSON.stringify(name)}, Namespace: ${JSON.stringify(namespace)}`
}

export function serverSideManager({ flags }: Call): string {
  const given = flags.text('field-manager')
  return given === clientSideManager && !flags.isSet('field-manager') ? 'kubectl' : given
}

async function applyServerSide(call: Call, info: Info, dryRun: DryRun): Promise<{ object: ApiObject; operation: string }> {
  const { flags, session } = call
  const rest = await session.rest
  if (info.object.metadata?.managedFields !== undefined) throw new CliError(`metadata.managedFields must be nil`)
  const query = {
    ...writeQuery(call, dryRun),
    fieldManager: serverSideManager(call),
    force: flags.isOn('force-conflicts') ? 'true' : 'false',
  }
  try {
    const object = await rest.json<ApiObject>({
      method: 'PATCH',
      path: infoPath(info),
      contentType: 'application/apply-patch+yaml',
      query,
      body: JSON.stringify(info.object),
    })
    const migrated = dryRun === 'none' ? await migratedOwnership(call, info, object, query.fieldManager) : object
    return { object: migrated, operation: 'serverside-applied' }
  } catch (error) {
    if (error instanceof ApiError && error.isConflict) throw conflictError(error)
    throw error
  }
}

/** What client-side apply owned belongs to server-side apply from now on, so that fields can be removed by leaving them out. */
async function migratedOwnership(call: Call, info: Info, object: ApiObject, manager: string): Promise<ApiObject> {
  const { migrateManagedFields } = await import('#cli/apply/migrate-managers.ts')
  const rest = await call.session.rest
  let current = object
  for (let attempt = 1; ; attempt++) {
    const body = migrateManagedFields(current, manager)
    if (body === undefined) return current
    try {
      const query = { fieldManager: manager }
      return await rest.json<ApiObject>({ method: 'PATCH', path: infoPath(info), contentType: contentTypes.json, body, query })
    } catch (error) {
      // A controller was quicker; nobody disagrees about fields.
      if (!(error instanceof ApiError && error.isConflict) || attempt >= migrationTries) throw error
      current = await fetchInfo(rest, info)
    }
  }
}

const migrationTries = 5

function conflictError(error: ApiError): CliError {
  return new CliError(
    `${error.message}\nPlease review the fields above--they currently have other managers. Here\nare the ways you can resolve this warning:\n* If you intend to manage all of these fields, please re-run the apply\n  command with the \`--force-conflicts\` flag.\n* If you do not intend to manage all of the fields, please edit your\n  manifest to remove references to the fields that should keep their\n  current managers.\n* You may co-own fields by updating your manifest to match the existing\n  value; in this case, you'll become the manager if the other manager(s)\n  stop managing the field (remove it from their configuration).\nSee https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`,
  )
}
