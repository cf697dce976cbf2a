/** `kubectl apply view-last-applied|set-last-applied` */
import { jsonText } from '#api/codec/json-text.ts'
import { yamlText } from '#api/codec/yaml.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { fetchInfo, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly, requireManifests } from '#cli/resources/read-manifests.ts'
import { dryRunOf, dryRunSuffix, lastAppliedName, lastAppliedOf, lastAppliedText } from '#cli/write-options.ts'

export async function viewLastApplied(call: Call): Promise<void> {
  const { flags, host } = call
  const output = flags.text('output') || 'yaml'
  if (output !== 'yaml' && output !== 'json')
    throw new CliError(
      `Unexpected -o output mode: ${output}, the flag 'output' must be one of yaml|json\nSee 'kubectl apply view-last-applied -h' for help and examples`,
    )
  const { infos, errors } = await findInfos(call)
  for (const info of infos) {
    const text = lastAppliedOf(info.object)
    // What was never applied has nothing to show.
    if (text === undefined) continue
    const value = JSON.parse(text) as unknown
    host.write(output === 'yaml' ? yamlText(value) : `${jsonText(value, 2)}\n`)
  }
  throwAll(errors)
}

export async function setLastApplied(call: Call): Promise<void> {
  const { flags, host, session } = call
  requireManifests(call)
  const rest = await session.rest
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'configured', dryRunSuffix(dryRun))
  for (const info of await readManifestsStrictly(call)) {
    let live: ApiObject
    try {
      live = await fetchInfo(rest, info)
    } catch (error) {
      throw error instanceof ApiError ? error.during('getting', info.source) : error
    }
    if (lastAppliedOf(live) === undefined && !flags.isOn('create-annotation'))
      throw new CliError(
        'no last-applied-configuration annotation found on resource: ' +
          `${info.name}, to create the annotation, run the command with --create-annotation`,
      )
    const body = { metadata: { annotations: { [lastAppliedName]: lastAppliedText(info.object) } } }
    if (dryRun !== 'client' && lastAppliedOf(live) !== lastAppliedText(info.object))
      live = await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info),
        contentType: 'application/merge-patch+json',
        query: { dryRun: dryRun === 'server' ? 'All' : undefined },
        body,
      })
    host.write(printer(live))
  }
}
