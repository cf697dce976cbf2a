import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { resourcePath, singularText } from '#cli/session/resource-types.ts'
import type { Rest } from '#cli/session/rest.ts'
import type { ResourceType } from '#cli/session/served-resources.ts'

/** An object that a command line names. */
export type Info = {
  type: ResourceType
  /** Empty where the resource has none. */
  namespace: string
  name: string
  object: ApiObject
  /** The file, the URL or `STDIN` it came from. */
  source: string
}

export function infoPath(
  { type, namespace, name }: Pick<Info, 'namespace' | 'name'> & { type: Pick<ResourceType, 'group' | 'version' | 'plural'> },
  subresource = '',
): string {
  // Without a name the path would be that of all of them: what is deleted there is gone.
  if (name === '') throw new CliError('resource name may not be empty')
  return resourcePath(type, namespace, name, subresource)
}

/** The live object. */
export const fetchInfo = async (rest: Rest, info: Info, subresource = ''): Promise<ApiObject> =>
  rest.json<ApiObject>({ path: infoPath(info, subresource) })

/** `deployment.apps/web`: what a command says of it. */
export const infoText = ({ type, name }: Info): string => `${singularText(type)}/${name}`
