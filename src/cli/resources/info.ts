import type { ApiObject } from '#cli/call.ts'
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

export const infoPath = ({ type, namespace, name }: Info, subresource = ''): string => resourcePath(type, namespace, name, subresource)

/** The live object. */
export const fetchInfo = (rest: Rest, info: Info, subresource = ''): Promise<ApiObject> =>
  rest.json<ApiObject>({ path: infoPath(info, subresource) })

/** `deployment.apps/web`: what a command says of it. */
export const infoText = ({ type, name }: Info): string => `${singularText(type)}/${name}`
