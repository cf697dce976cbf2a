/** `kubectl replace` */
import { defined } from '#base/defined.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import type { Info } from '#cli/resources/info.ts'
import { infoPath, infoText } from '#cli/resources/info.ts'
import { readManifests, requireManifests } from '#cli/resources/read-manifests.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import { type Cascade, cascadeOf, dryRunOf, dryRunSuffix, lastAppliedOf, withLastApplied, writeQuery } from '#cli/write-options.ts'
import { checkOneFile, checkRawPath, sendRaw } from './raw-request.ts'

export async function replace(call: Call): Promise<void> {
  const { flags, host, session } = call
  const isForced = flags.isOn('force')
  const cascade = cascadeOf(flags.text('cascade'), (line) => host.complain(line))
  if (!isForced && flags.isSet('grace-period') && flags.number('grace-period') >= 0)
    throw new CliError('--grace-period must have --force specified')
  if (!isForced && flags.durationMs('timeout') !== 0) throw new CliError('--timeout must have --force specified')
  const dryRun = dryRunOf(call)
  if (isForced && dryRun !== 'none') throw new CliError('--dry-run can not be used when --force is set')
  requireManifests(call)
  if (flags.text('raw') !== '') return replaceRaw(call)
  const rest = await session.rest
  const query = writeQuery(call, dryRun)
  const errors: unknown[] = []
  const infos: Info[] = []
  for (const read of await readManifests(call)) {
    if ('error' in read) errors.push(read.error)
    else infos.push(read.info)
  }
  if (isForced) await deleteFirst(call, infos, cascade)
  const printer = await resultPrinter(call, 'replaced', dryRunSuffix(dryRun))
  for (const info of infos) {
    try {
      const live = lastAppliedOf(info.object) !== undefined || flags.isOn('save-config')
      const object = live ? withLastApplied(info.object) : info.object
      const subresource = flags.has('subresource') ? flags.text('subresource') : ''
      const answer = isForced
        ? await rest.json<ApiObject>({ method: 'POST', path: resourcePath(info.type, info.namespace), query, body: object })
        : dryRun === 'client'
          ? object
          : await put(call, info, object, query, subresource)
      host.write(printer(answer))
    } catch (error) {
      errors.push(error instanceof ApiError ? error.during('replacing', info.source) : error)
    }
  }
  throwAll(errors)
  if (infos.length === 0) throw new CliError('no objects passed to replace')
}

/** A manifest without a version replaces whatever there is; the server wants to be told so. */
async function put(
  { session }: Call,
  info: Info,
  object: ApiObject,
  query: Record<string, string | undefined>,
  subresource: string,
): Promise<ApiObject> {
  const rest = await session.rest
  const path = infoPath(info, subresource)
  if (object.metadata?.resourceVersion) return rest.json<ApiObject>({ method: 'PUT', path, query, body: object })
  try {
    const live = await rest.json<ApiObject>({ path })
    const version = live.metadata?.resourceVersion ?? ''
    return await rest.json<ApiObject>({
      method: 'PUT',
      path,
      query,
      body: { ...object, metadata: { ...object.metadata, resourceVersion: version } },
    })
  } catch (error) {
    if (error instanceof ApiError && error.isNotFound) return rest.json<ApiObject>({ method: 'PUT', path, query, body: object })
    throw error
  }
}

async function deleteFirst(call: Call, infos: readonly Info[], propagationPolicy: Cascade): Promise<void> {
  const { flags, host, session } = call
  const rest = await session.rest
  const grace = flags.isSet('grace-period') ? flags.number('grace-period') : 0
  const { waitForDeletion } = await import('./wait.ts')
  for (const info of infos) {
    try {
      const body = { ...defined({ gracePeriodSeconds: grace >= 0 ? grace : undefined }), propagationPolicy }
      await rest.json({ method: 'DELETE', path: infoPath(info), body })
      host.write(
        flags.text('output') === 'name'
          ? `${infoText(info)}\n`
          : `${singularText(info.type)} ${JSON.stringify(info.name)} deleted${info.namespace === '' ? '' : ` from ${info.namespace} namespace`}\n`,
      )
      await waitForDeletion(call, info, '', call.host.clock.monotonic() + (flags.durationMs('timeout') || 300_000))
    } catch (error) {
      if (!(error instanceof ApiError && error.isNotFound)) throw error
    }
  }
}

async function replaceRaw(call: Call): Promise<void> {
  const { flags } = call
  checkOneFile(call)
  checkRawPath(flags.text('raw'))
  if (flags.isOn('recursive')) throw new CliError('--raw and --recursive are mutually exclusive')
  if (flags.text('output') !== '') throw new CliError('--raw and --output are mutually exclusive')
  await sendRaw(call, 'PUT')
}
