/** `kubectl create -f` */

import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll, usageError } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { readManifests, requireManifests } from '#cli/resources/read-manifests.ts'
import { selectorTest } from '#cli/resources/selector-test.ts'
import { resourcePath } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix, withLastApplied, writeQuery } from '#cli/write-options.ts'
import { checkOneFile, checkRawPath, sendRaw } from './raw-request.ts'

export async function create(call: Call): Promise<void> {
  const { flags, host, session } = call
  if (call.args.length > 0) throw usageError('create', `Unexpected args: [${call.args.join(' ')}]`)
  requireManifests(call)
  if (flags.text('raw') !== '') return createRaw(call)
  if (flags.isOn('edit')) {
    const { editAndCreate } = await import('./edit.ts')
    return editAndCreate(call)
  }
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'created', dryRunSuffix(dryRun))
  const query = writeQuery(call, dryRun)
  const rest = await session.rest
  const errors: unknown[] = []
  const isWanted = selectorTest(flags.text('selector'))
  let count = 0
  for (const read of await readManifests(call)) {
    if ('error' in read) {
      errors.push(read.error)
      continue
    }
    const { info } = read
    if (!isWanted(info.object)) continue
    let object = flags.isOn('save-config') ? withLastApplied(info.object) : info.object
    try {
      if (dryRun !== 'client')
        object = await rest.json<ApiObject>({ method: 'POST', path: resourcePath(info.type, info.namespace), query, body: object })
      count++
      host.write(printer(object))
    } catch (error) {
      errors.push(error instanceof ApiError ? error.during('creating', info.source) : error)
    }
  }
  throwAll(errors)
  if (count === 0) throw new CliError('no objects passed to create')
}

async function createRaw(call: Call): Promise<void> {
  const { flags } = call
  if (flags.isOn('edit')) throw new CliError('--raw and --edit are mutually exclusive')
  checkOneFile(call)
  if (flags.isOn('recursive')) throw new CliError('--raw and --recursive are mutually exclusive')
  if (flags.text('selector') !== '') throw new CliError('--raw and --selector (-l) are mutually exclusive')
  if (flags.text('output') !== '') throw new CliError('--raw and --output are mutually exclusive')
  checkRawPath(flags.text('raw'))
  await sendRaw(call, 'POST')
}
