/** The paths outside of resources: lists of groups and versions, the server's version, token keys. */
import { defined } from '#base/defined.ts'
import { idPrefix, rootOf, tagOf } from './naming.ts'
import type { Operation, PathItem } from './operation.ts'

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1'
const media = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']

function read(
  path: string,
  id: string,
  tag: string,
  text: string,
  type: string,
  produces: readonly string[],
  consumes?: readonly string[],
): PathItem {
  const operation: Operation = {
    method: 'get',
    id,
    tag,
    text,
    parameters: [],
    produces,
    ...defined({ consumes }),
    responses: [{ code: 200, type }, { code: 401 }],
  }
  return { path, operations: [operation] }
}

export function versionResources(group: string, version: string): PathItem {
  const id = `get${idPrefix(group, version)}APIResources`
  return read(`${rootOf(group, version)}/`, id, tagOf(group, version), 'get available resources', `${meta}.APIResourceList`, media, media)
}

export function groupInformation(group: string): PathItem {
  return read(
    `/apis/${group}/`,
    `get${idPrefix(group)}APIGroup`,
    tagOf(group),
    'get information of a group',
    `${meta}.APIGroup`,
    media,
    media,
  )
}

/** By the name of their document. */
export const otherPaths: Readonly<Record<string, PathItem>> = {
  '.well-known/openid-configuration': read(
    '/.well-known/openid-configuration/',
    'getServiceAccountIssuerOpenIDConfiguration',
    'WellKnown',
    'get what verifiers of service account tokens need to know of their issuer',
    'text',
    ['application/json'],
  ),
  api: read('/api/', 'getCoreAPIVersions', 'core', 'get available API versions', `${meta}.APIVersions`, media, media),
  apis: read('/apis/', 'getAPIVersions', 'apis', 'get available API versions', `${meta}.APIGroupList`, media, media),
  'openid/v1/jwks': read(
    '/openid/v1/jwks/',
    'getServiceAccountIssuerOpenIDKeyset',
    'openid',
    'get the keys that service account tokens are verified with',
    'text',
    ['application/jwk-set+json'],
  ),
  version: read(
    '/version/',
    'getCodeVersion',
    'version',
    'get the version information for this server',
    'io.k8s.apimachinery.pkg.version.Info',
    ['application/json'],
    ['application/json'],
  ),
}
