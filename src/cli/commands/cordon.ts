/** `kubectl cordon` and `kubectl uncordon` */
import type { ApiObject, Call } from '#cli/call.ts'
import { CliError, ManyErrors, throwAll, usageError } from '#cli/cli-error.ts'
import { namePrinter } from '#cli/print/printer.ts'
import { type Found, findInfos } from '#cli/resources/find-infos.ts'
import { type Info, infoPath } from '#cli/resources/info.ts'
import { dryRunOf, dryRunSuffix } from '#cli/write-options.ts'

export const cordon = (call: Call): Promise<void> => setSchedulable(call, false)
export const uncordon = (call: Call): Promise<void> => setSchedulable(call, true)

async function setSchedulable(call: Call, isSchedulable: boolean): Promise<void> {
  const { infos, errors } = await namedNodes(call)
  for (const info of infos) await cordonNode(call, info, !isSchedulable, errors)
  throwAll(errors)
}

/** The nodes of the arguments or of the selector. */
export async function namedNodes(call: Call): Promise<Found> {
  const { args, flags, command } = call
  const selector = flags.text('selector')
  if (args.length === 0 && selector === '') throw usageError(command.path, `USAGE: ${command.usage.replace(/ \[options\]$/, '')} [flags]`)
  if (args.length > 0 && selector !== '') throw usageError(command.path, 'error: cannot specify both a node name and a --selector option')
  const targets = selector === '' ? args.map((arg) => (arg.includes('/') ? arg : `nodes/${arg}`)) : ['nodes']
  const found = await findInfos(call, { args: targets }).catch((error: unknown) => {
    throw error instanceof ManyErrors ? error.errors[0] : error
  })
  // Nothing is done to any of them where one is not there, or is none.
  if (found.errors.length > 0) throw found.errors[0]
  const other = found.infos.find(({ type }) => type.plural !== 'nodes' || type.group !== '')?.type
  if (other !== undefined)
    throw new CliError(`expected resource of type node, got "${other.group}/${other.version}, Resource=${other.plural}"`)
  return found
}

export async function cordonNode(call: Call, info: Info, isUnschedulable: boolean, errors: unknown[]): Promise<void> {
  const { host, session } = call
  const dryRun = dryRunOf(call)
  const say = (operation: string) => host.write(namePrinter({ operation, suffix: dryRunSuffix(dryRun) })(info.object))
  const spec = (info.object['spec'] ?? {}) as { unschedulable?: boolean }
  if ((spec.unschedulable ?? false) === isUnschedulable) {
    say(`already ${isUnschedulable ? 'cordoned' : 'uncordoned'}`)
    return
  }
  if (dryRun !== 'client') {
    try {
      const rest = await session.rest
      const body = { spec: { unschedulable: isUnschedulable ? true : null } }
      info.object = await rest.json<ApiObject>({
        method: 'PATCH',
        path: infoPath(info),
        contentType: 'application/strategic-merge-patch+json',
        query: { dryRun: dryRun === 'server' ? 'All' : undefined },
        body,
      })
    } catch (error) {
      host.complain(
        `error: unable to ${isUnschedulable ? 'cordon' : 'uncordon'} node ${JSON.stringify(info.name)}: ${(error as Error).message}\n`,
      )
      errors.push(error instanceof CliError ? error : error)
      return
    }
  }
  say(isUnschedulable ? 'cordoned' : 'uncordoned')
}
