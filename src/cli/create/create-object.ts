/** What all generators share: from an object made of flags to one on the server, and to what is printed. */
import { canonicalize } from '#api/codec/json.ts'
import { schemaNameOf } from '#api/schema/schema.ts'
import type { ApiObject, Call } from '#cli/call.ts'
import { ApiError, CliError, usageError } from '#cli/cli-error.ts'
import { keepOrder, resultPrinter } from '#cli/print/printer.ts'
import { groupAndVersion, resourcePath } from '#cli/session/resource-types.ts'
import { dryRunOf, dryRunSuffix, withTypedLastApplied, writeQuery } from '#cli/write-options.ts'

export type Generator = (call: Call) => Promise<ApiObject> | ApiObject

export type GeneratorOptions = {
  generate: Generator
  plural: string
  isClusterWide?: boolean
  /** `failed to create deployment: …` */
  failure?: string
}

/** The one argument that is the new object's name. */
export function nameArgument({ args, argsBeforeDash, command }: Call): string {
  const count = argsBeforeDash ?? args.length
  const [name] = args
  if (count !== 1 || name === undefined) throw usageError(command.path, `exactly one NAME is required, got ${count}`)
  return name
}

/** What came after `--`. */
export const commandArguments = ({ args, argsBeforeDash }: Call): string[] => args.slice(argsBeforeDash ?? 1)

/** In Go's order, with what Go writes of empty structs. */
export function asTyped(object: ApiObject): ApiObject {
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  const name = schemaNameOf({ group, version, kind: object.kind ?? '' })
  return name === undefined ? object : keepOrder(canonicalize(object, name))
}

/** Creates what a command has made of its flags. */
export async function postGenerated(call: Call, plural: string, namespace: string, object: ApiObject): Promise<ApiObject> {
  const [group, version] = groupAndVersion(object.apiVersion ?? '')
  const rest = await call.session.rest
  const path = resourcePath({ group, version, plural }, namespace)
  return rest.json<ApiObject>({ method: 'POST', path, query: writeQuery(call, dryRunOf(call)), body: object })
}

export async function createGenerated(call: Call, { generate, plural, isClusterWide = false, failure }: GeneratorOptions): Promise<void> {
  const { flags, host, session } = call
  const dryRun = dryRunOf(call)
  const printer = await resultPrinter(call, 'created', dryRunSuffix(dryRun))
  let object = await generate(call)
  const { namespace, isNamespaceGiven } = isClusterWide ? { namespace: '', isNamespaceGiven: false } : await session.context
  if (isNamespaceGiven) object.metadata = { ...object.metadata, namespace }
  object = asTyped(object)
  if (flags.isOn('save-config')) object = keepOrder(withTypedLastApplied(object))
  if (dryRun !== 'client') {
    try {
      object = asTyped(await postGenerated(call, plural, namespace, object))
    } catch (error) {
      if (error instanceof ApiError && failure !== undefined) throw new CliError(`${failure}${error.message}`)
      throw error
    }
  }
  host.write(printer(object))
}
