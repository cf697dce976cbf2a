/** `kubectl convert`: manifests in another version of their group. */
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, throwAll } from '#cli/cli-error.ts'
import { asTyped } from '#cli/create/create-object.ts'
import { keepOrder, printerFor } from '#cli/print/printer.ts'
import { readManifests, requireManifests } from '#cli/resources/read-manifests.ts'

export async function convert(call: Call): Promise<void> {
  const { flags, host } = call
  requireManifests(call)
  const printer = await printerFor(call)
  const wanted = flags.text('output-version')
  if (wanted.split('/').length > 2) throw new CliError(`unexpected GroupVersion string: ${wanted}`)
  const read = await readManifests(call, { isLocal: flags.isOn('local') })
  const failed = read.find((each) => 'error' in each)
  if (failed !== undefined && 'error' in failed) throw failed.error
  if (read.length === 0) throw new CliError('no objects passed to convert')
  const { Converter } = await import('#cli/resources/converter.ts')
  const { builtInKinds } = await import('#api/kinds.ts')
  const converter = new Converter(builtInKinds)
  const objects: ApiObject[] = []
  const unknown: CliError[] = []
  for (const each of read) {
    if (!('info' in each)) continue
    const converted = converter.convert(each.info.object, wanted)
    if (converted === undefined)
      unknown.push(new CliError(`unable to decode ${JSON.stringify(each.info.source)}: ${unknownKind(each.info.object)}`))
    else if (typeof converted === 'string') host.complain(`${converted}\n`)
    else objects.push(asTyped(converted))
  }
  throwAll(unknown)
  const [only] = objects
  const shown = read.length === 1 && only !== undefined ? only : keepOrder({ kind: 'List', apiVersion: 'v1', metadata: {}, items: objects })
  if (printer !== undefined) host.write(printer(shown as ApiObject))
}

const unknownKind = ({ kind, apiVersion }: ApiObject): string =>
  `no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')} in scheme "pkg/api/legacyscheme/scheme.go:30"`
