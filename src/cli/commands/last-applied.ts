/** `kubectl apply view-last-applied|set-last-applied` */
import { jsonText } from '#api/codec/json-text.ts'
import { yamlText } from '#api/codec/yaml.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, throwAll } from '#cli/cli-error.ts'
import { resultPrinter } from '#cli/print/printer.ts'
import { findInfos } from '#cli/resources/find-infos.ts'
import { fetchInfo, infoPath } from '#cli/resources/info.ts'
import { readManifestsStrictly, requireManifests } from '#cli/resources/read-manifests.ts'
import { sortedKeys } from '#cli/template/go-values.ts'
import { dryRunOf, dryRunSuffix, goJson, lastAppliedName, lastAppliedOf } from '#cli/write-options.ts'

export async function viewLastApplied(call: Call): Promise<void> {
  const { flags, host } = call
  const output = flags.text('output') || 'yaml'
  if (output !== 'yaml' && output !== 'json')
    throw new CliError(
      `Unexpected -o output mode: ${output}, the flag 'output' must be one of yaml|json\nSee 'kubectl apply view-last-applied -h' for help and examples`,
    )
  const { isNamespaceGiven } = await call.session.context
  const selector = flags.text('selector').trim()
  // Kubectl's own rules: with a namespace a type alone means all of them, which is a selector already.
  if (flags.isOn('all') && isNamespaceGiven && call.args.length === 1 && !call.args[0]?.includes('/'))
    throw new CliError("setting 'all' parameter but found a non empty selector. ")
  if (flags.isOn('all') && selector !== '')
    throw new CliError(`found non-empty label selector ${JSON.stringify(selector)} with previously set 'all' parameter. `)
  const { infos, errors } = await findInfos(call, { typeAloneIsEnough: isNamespaceGiven, allExcludesNames: true })
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
    let live = await fetchInfo(rest, info)
    if (lastAppliedOf(live) === undefined && !flags.isOn('create-annotation'))
      throw new CliError(
        'no last-applied-configuration annotation found on resource: ' +
          `${info.name}, to create the annotation, run the command with --create-annotation`,
      )
    const text = appliedText(info.object)
    if (lastAppliedOf(live) === text) {
      host.write(`set-last-applied ${info.name}: no changes required.\n`)
      continue
    }
    const body = { metadata: { annotations: { [lastAppliedName]: text } } }
    if (dryRun !== 'client')
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

/** The object as it stands in its file, without the annotation itself. */
function appliedText(object: ApiObject): string {
  const { [lastAppliedName]: _lastApplied, ...annotations } = object.metadata?.annotations ?? {}
  const { annotations: _annotations, ...metadata } = object.metadata ?? {}
  const plain = { ...object, metadata: Object.keys(annotations).length > 0 ? { ...metadata, annotations } : metadata }
  return `${goJson(sortedKeys(plain))}\n`
}
