/** What arguments such as `pods`, `deploy web api`, `svc/a po/b`, `all -l app=web` name. */
import type { Call } from '#cli/call.ts'
import { CliError, NoResourceError } from '#cli/cli-error.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { checkPaths, hasManifests } from './read-manifests.ts'

/** Objects by name, or whole collections. */
export type Selection =
  | { by: 'names'; items: readonly { type: ResourceType; name: string }[]; isSingle: boolean }
  | { by: 'lists'; types: readonly ResourceType[]; isSingleType: boolean }

export type SelectOptions = {
  args: readonly string[]
  /** A type alone means all of them, as for `get`. */
  typeAloneIsEnough?: boolean
  selector?: string
  fieldSelector?: string
  /** With a type alone all of them are meant; beside names it has no effect, unless `allExcludesNames`. */
  all?: boolean
  allExcludesNames?: boolean
  allNamespaces?: boolean
  /** For an empty command line. */
  onNothing?: () => CliError
}

export const missingResources = (): CliError =>
  new CliError(
    [
      'You must provide one or more resources by argument or filename.',
      'Example resource specifications include:',
      "   '-f rsrc.yaml'",
      "   '--filename=rsrc.json'",
      "   '<resource> <name>'",
      "   '<resource>'",
    ].join('\n'),
  )

/** The selection flags of a command, as far as it has them. */
export function selectFlags({ flags }: Call): Pick<SelectOptions, 'selector' | 'fieldSelector' | 'all' | 'allNamespaces'> {
  return {
    selector: flags.has('selector') ? flags.text('selector') : '',
    fieldSelector: flags.has('field-selector') ? flags.text('field-selector') : '',
    all: flags.has('all') && flags.isOn('all'),
    allNamespaces: flags.has('all-namespaces') && flags.isOn('all-namespaces'),
  }
}

export async function selectResources(call: Call, options: SelectOptions): Promise<Selection> {
  const { all = false, allNamespaces = false, typeAloneIsEnough = false, allExcludesNames = false } = options
  const [selector, fieldSelector] = [options.selector?.trim() ?? '', options.fieldSelector?.trim() ?? '']
  if (all && allExcludesNames && (selector !== '' || fieldSelector !== ''))
    throw new CliError("setting 'all' parameter but found a non empty selector. ")
  const args = eachWithEach(options.args)
  const pairs = args.some((arg) => arg.includes('/')) ? pairsOf(args) : []
  const [first = '', ...names] = pairs.length > 0 ? [] : args
  if (hasManifests(call)) await checkPaths(call)
  if (hasManifests(call) && args.length > 0)
    throw new CliError(
      pairs.length > 0
        ? 'resource/name arguments cannot be provided when a path is specified'
        : 'when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well',
    )
  const isTypeAlone = pairs.length === 0 && args.length === 1
  const selectsMany = selector !== '' || fieldSelector !== '' || (all && allExcludesNames) || ((all || typeAloneIsEnough) && isTypeAlone)
  if (selectsMany) {
    if (names.length > 0) throw new CliError('name cannot be provided when a selector is specified')
    if (pairs.length > 0) throw new CliError('selectors and the all flag cannot be used when passing resource/name arguments')
    if (args.length === 0) throw new CliError('at least one resource must be specified to use a selector')
    const found = await typesOf(call, first)
    return { by: 'lists', types: found, isSingleType: found.length === 1 && !first.includes(',') }
  }
  if (args.length === 0) throw (options.onNothing ?? missingResources)()
  const types = await call.session.types
  if (pairs.length > 0) {
    const items: { type: ResourceType; name: string }[] = []
    for (const { resource, name } of pairs) items.push({ type: await types.named(resource), name })
    checkPlaces(items, allNamespaces)
    return { by: 'names', items, isSingle: items.length === 1 }
  }
  const found = await typesOf(call, first)
  if (names.length === 0) throw new CliError('resource(s) were provided, but no name was specified')
  if (found.length > 1) throw new CliError('you must specify only one resource')
  const type = found[0] as ResourceType
  const items = names.map((name) => ({ type, name }))
  checkPlaces(items, allNamespaces)
  return { by: 'names', items, isSingle: names.length === 1 }
}

/** Of several types and several names, each is meant with each. */
function eachWithEach(args: readonly string[]): readonly string[] {
  const [first = '', ...names] = args
  const types = first.split(',')
  return names.length > 0 && types.length > 1 ? types.flatMap((type) => names.map((name) => `${type}/${name}`)) : args
}

function pairsOf(args: readonly string[]): { resource: string; name: string }[] {
  if (!args.every((arg) => arg.includes('/')))
    throw new CliError(
      "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
    )
  return args.map(typeAndName)
}

function checkPlaces(items: readonly { type: ResourceType }[], allNamespaces: boolean): void {
  if (allNamespaces && items.some(({ type }) => type.isNamespaced))
    throw new CliError('a resource cannot be retrieved by name across all namespaces')
}

/** Throws for what is not `type/name`. */
export function typeAndName(arg: string): { resource: string; name: string } {
  const parts = arg.split('/')
  if (parts.length !== 2) throw new CliError('arguments in resource/name form may not have more than one slash')
  const [resource = '', name = ''] = parts
  if (resource === '' || name === '' || resource.includes(','))
    throw new CliError('arguments in resource/name form must have a single resource and name')
  return { resource, name }
}

/** Types and categories, joined by commas. */
export async function typesOf({ session }: Call, argument: string): Promise<ResourceType[]> {
  const types = await session.types
  const found: ResourceType[] = []
  for (const word of argument.split(',')) {
    const category = await types.inCategory(word)
    if (category.length > 0) found.push(...category)
    else found.push(await types.named(word))
  }
  if (found.length === 0) throw new NoResourceError(argument, '', '')
  return [...new Set(found)]
}
