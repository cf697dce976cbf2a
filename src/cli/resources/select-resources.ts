/** What arguments such as `pods`, `deploy web api`, `svc/a po/b`, `all -l app=web` name. */
import type { Call } from '#cli/call.ts'
import { CliError, NoResourceError } from '#cli/cli-error.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'
import { hasManifests } from './read-manifests.ts'

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
  all?: boolean
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
  const { args, selector = '', fieldSelector = '', all = false, allNamespaces = false, typeAloneIsEnough = false } = options
  if (hasManifests(call) && args.length > 0)
    throw new CliError('when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well')
  const hasSelector = selector !== '' || fieldSelector !== ''
  const types = await call.session.types
  if (args.length === 0)
    throw hasSelector || all
      ? new CliError('at least one resource must be specified to use a selector')
      : (options.onNothing ?? missingResources)()

  if (args.some((arg) => arg.includes('/'))) {
    if (!args.every((arg) => arg.includes('/')))
      throw new CliError(
        "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
      )
    const pairs = args.map(typeAndName)
    if (hasSelector || all) throw new CliError('selectors and the all flag cannot be used when passing resource/name arguments')
    if (allNamespaces) throw new CliError('a resource cannot be retrieved by name across all namespaces')
    const items: { type: ResourceType; name: string }[] = []
    for (const { resource, name } of pairs) items.push({ type: await types.named(resource), name })
    return { by: 'names', items, isSingle: items.length === 1 }
  }

  const [first = '', ...names] = args
  const found = await typesOf(call, first)
  if (names.length > 0) {
    if (hasSelector || all)
      throw new CliError(
        selector !== '' && found.length === 1
          ? 'name cannot be provided when a selector is specified'
          : hasSelector
            ? 'selectors and the all flag cannot be used when passing resource/name arguments'
            : "setting 'all' parameter but found a non empty selector. ",
      )
    if (found.length > 1) throw new CliError('you must specify only one resource')
    if (allNamespaces) throw new CliError('a resource cannot be retrieved by name across all namespaces')
    const type = found[0] as ResourceType
    return { by: 'names', items: [...new Set(names)].map((name) => ({ type, name })), isSingle: names.length === 1 }
  }
  if (hasSelector || all || typeAloneIsEnough)
    return { by: 'lists', types: found, isSingleType: found.length === 1 && !first.includes(',') }
  throw new CliError('resource(s) were provided, but no name was specified')
}

function typeAndName(arg: string): { resource: string; name: string } {
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
  for (const word of argument.split(',').filter((each) => each !== '')) {
    const category = await types.inCategory(word)
    if (category.length > 0) found.push(...category)
    else found.push(await types.named(word))
  }
  if (found.length === 0) throw new NoResourceError(argument, '', '')
  return [...new Set(found)]
}
