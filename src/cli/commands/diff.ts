/** `kubectl diff`: what is live against what applying would make of it, shown by a program of the user's. */
import { join } from 'node:path'
import { yamlText } from '#api/codec/yaml.ts'
import { applyPatchFor, contentTypes, isEmptyPatch } from '#cli/apply/patch-object.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, errorText, PlainError, usageError } from '#cli/cli-error.ts'
import { fetchInfo, type Info, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly, requireManifests } from '#cli/resources/read-manifests.ts'
import { selectorTest } from '#cli/resources/selector-test.ts'
import { apiVersionOf, resourcePath } from '#cli/session/resource-types.ts'
import { serverSideManager } from './apply.ts'

/** 1 says that there are differences: what goes wrong ends with more. */
export async function diff(call: Call): Promise<void> {
  try {
    await showDifferences(call)
  } catch (error) {
    if (error instanceof PlainError || (error instanceof CliError && error.exitCode > 1)) throw error
    throw new PlainError(errorText(error), 2)
  }
}

async function showDifferences(call: Call): Promise<void> {
  const { args, flags, host } = call
  if (args.length > 0) throw usageError('diff', `Unexpected args: [${args.join(' ')}]`)
  requireManifests(call)
  if (flags.isOn('force-conflicts') && !flags.isOn('server-side')) throw new CliError('--force-conflicts only works with --server-side')
  const [live, merged] = [await host.files.temporaryDirectory('LIVE-'), await host.files.temporaryDirectory('MERGED-')]
  try {
    const isWanted = selectorTest(flags.text('selector'))
    const found: Info[] = []
    const fileOf = ({ type, namespace, name }: Pick<Info, 'type' | 'namespace' | 'name'>) =>
      [type.group, type.version, type.kind, namespace, name].filter((part) => part !== '').join('.')
    for (const info of await readManifestsStrictly(call)) {
      if (!isWanted(info.object)) continue
      const { before, after } = await states(call, info)
      found.push({ ...info, object: before ?? {} })
      const name = fileOf(info)
      const text = (object: ApiObject | undefined) => (object === undefined ? '' : yamlText(shown(call, object, before, after)))
      await host.files.write(join(live, name), text(before))
      await host.files.write(join(merged, name), text(after))
    }
    if (flags.isOn('prune')) {
      const { prunable } = await import('#cli/apply/prune.ts')
      for await (const { type, namespace, object } of prunable(call, found)) {
        const name = fileOf({ type, namespace, name: object.metadata?.name ?? '' })
        await host.files.write(
          join(live, name),
          yamlText(shown(call, { apiVersion: apiVersionOf(type), kind: type.kind, ...object }, object, {})),
        )
      }
    }
    const [program = 'diff', ...given] = (host.environment['KUBECTL_EXTERNAL_DIFF'] ?? '').split(/\s+/).filter((word) => word !== '')
    const options = given.length === 0 && program === 'diff' ? ['-u', '-N'] : given.filter((word) => /^[-a-zA-Z0-9=]+$/.test(word))
    const { exitCode, stdout, stderr } = await host.processes.run(program, [...options, live, merged]).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      throw new CliError(`failed to run ${JSON.stringify(program)}: executable file not found in $PATH`, 2)
    })
    host.write(stdout)
    host.complain(stderr)
    if (exitCode > 1) throw new CliError(`failed to run ${JSON.stringify(program)}: exit status ${exitCode}`, exitCode)
    if (exitCode === 1) throw new PlainError('', 1)
  } finally {
    await host.files.remove(live)
    await host.files.remove(merged)
  }
}

async function states(call: Call, info: Info): Promise<{ before: ApiObject | undefined; after: ApiObject }> {
  const { flags, session } = call
  const rest = await session.rest
  let before: ApiObject | undefined
  try {
    before = await fetchInfo(rest, info)
  } catch (error) {
    if (!(error instanceof ApiError && error.isNotFound)) throw error
  }
  if (flags.isOn('server-side')) {
    const query = { dryRun: 'All', fieldManager: serverSideManager(call), force: flags.isOn('force-conflicts') ? 'true' : 'false' }
    return {
      before,
      after: await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info),
        contentType: 'application/apply-patch+yaml',
        query,
        body: JSON.stringify(info.object),
      }),
    }
  }
  const query = { dryRun: 'All', fieldManager: flags.text('field-manager') }
  if (before === undefined)
    return {
      before,
      after: await rest.json<ApiObject>({
        method: 'POST',
        path: resourcePath(info.type, info.namespace),
        query,
        body: info.object,
      }),
    }
  const patch = applyPatchFor(info, before, { annotates: false })
  if (isEmptyPatch(patch)) return { before, after: before }
  // Whoever changes it meanwhile makes the comparison worthless.
  const metadata = { ...(patch.body['metadata'] as object | undefined), resourceVersion: before.metadata?.resourceVersion }
  return {
    before,
    after: await rest.json<ApiObject>({
      method: 'PATCH',
      path: infoPath(info),
      contentType: contentTypes[patch.type],
      query,
      body: { ...patch.body, metadata },
    }),
  }
}

/** Without who manages what; values of secrets are hidden, but not whether they differ. */
function shown({ flags }: Call, object: ApiObject, before: ApiObject | undefined, after: ApiObject): ApiObject {
  const { managedFields: _managedFields, ...metadata } = object.metadata ?? {}
  const visible: ApiObject = flags.isOn('show-managed-fields') ? object : { ...object, metadata }
  if (object.kind !== 'Secret') return visible
  const data = (each: ApiObject | undefined) => (each?.['data'] ?? {}) as Record<string, string>
  const masked = Object.fromEntries(
    Object.keys(data(object)).map((key) => {
      const isSame = data(before)[key] === data(after)[key]
      const isBoth = data(before)[key] !== undefined && data(after)[key] !== undefined
      return [key, isSame || !isBoth ? '***' : object === before ? '*** (before)' : '*** (after)']
    }),
  )
  return { ...visible, data: masked }
}
