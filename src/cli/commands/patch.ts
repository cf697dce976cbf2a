/** `kubectl patch` */
import { readYamlValue } from '#api/codec/yaml-reader.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { locallyPatched } from '#cli/apply/local-patch.ts'
import { contentTypes } from '#cli/apply/patch-object.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { fetchInfo, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly } from '#cli/resources/read-manifests.ts'
import { fileErrorText } from '#cli/session/file-error-text.ts'
import { dryRunOf, goJson } from '#cli/write-options.ts'

type PatchType = keyof typeof contentTypes

export async function patch(call: Call): Promise<void> {
  const { flags, host, session } = call
  const [text, path] = [flags.text('patch'), flags.text('patch-file')]
  if (text !== '' && path !== '') throw new CliError('cannot specify --patch and --patch-file together')
  if (text === '' && path === '') throw new CliError('must specify --patch or --patch-file containing the contents of the patch')
  const isLocal = flags.isOn('local')
  if (isLocal && call.args.length > 0) throw new CliError('cannot specify --local and server resources')
  const dryRun = dryRunOf(call)
  if (isLocal && dryRun === 'server') throw new CliError('cannot specify --local and --dry-run=server - did you mean --dry-run=client?')
  const type = flags.text('type').toLowerCase() || 'strategic'
  if (!Object.hasOwn(contentTypes, type))
    throw new CliError(`--type must be one of [json merge strategic], not ${JSON.stringify(flags.text('type'))}`)
  const source = path === '' ? text : await patchFile(call, path)
  const body = patchBody(source)
  // What a file says is patched as it stands there, if only to tell whether anything changed.
  const { infos, errors } = isLocal
    ? { infos: await readManifestsStrictly(call, { isLocal }), errors: [] }
    : await findInfos(call, { latest: false })
  if (infos.length === 0) throw new CliError('no objects passed to patch')
  const rest = isLocal ? undefined : await session.rest
  const subresource = flags.text('subresource')
  for (const info of infos) {
    try {
      let next: ApiObject
      if (rest !== undefined && subresource !== '') info.object = await fetchInfo(rest, info, subresource)
      if (rest !== undefined && dryRun !== 'client') {
        const query = { fieldManager: flags.text('field-manager'), dryRun: dryRun === 'server' ? 'All' : undefined }
        next = await rest
          .json<ApiObject>({
            method: 'PATCH',
            path: infoPath(info, subresource),
            contentType: contentTypes[type as PatchType],
            query,
            body,
          })
          .catch((error: unknown) => {
            if (error instanceof ApiError && error.status.reason === 'UnsupportedMediaType') {
              const { group, version, kind } = info.type
              throw new CliError(
                `${contentTypes[type as PatchType]} is not supported by ${group === '' ? '' : group}/${version}, Kind=${kind}: ${error.message}`,
              )
            }
            throw error
          })
      } else next = locallyPatched(info.object, type as PatchType, readYamlValue(body).value)
      const didChange = !equalJson(next, info.object)
      // Kubectl does not say here that nothing was kept.
      host.write((await resultPrinter(call, didChange ? 'patched' : 'patched (no change)'))(next))
    } catch (error) {
      errors.push(error)
    }
  }
  throwAll(errors)
}

async function patchFile({ host }: Call, path: string): Promise<string> {
  if (path === '-') return Buffer.from(await host.terminal.readAll()).toString()
  try {
    return await host.files.readText(path)
  } catch (error) {
    throw new CliError(`unable to read patch file: ${fileErrorText(error)}`)
  }
}

/** What begins like JSON is sent as it is; other text is YAML, and made JSON. */
function patchBody(source: string): string {
  if (/^\s*[{[]/.test(source)) return source
  try {
    return goJson(readYamlValue(source).value)
  } catch (error) {
    throw new CliError(`unable to parse ${JSON.stringify(source)}: ${(error as Error).message}`)
  }
}
