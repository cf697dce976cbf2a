/** Which Go packages of the facts become folders of src/api, and under which names. */

export type ApiPackage = {
  /** As the facts spell it: `core/v1`. */
  name: string
  /** The API group: empty for core. */
  group: string
  version: string
  /** Under src/api: `core/v1`. */
  folder: string
  /** What the names of its types start with in the schema: `io.k8s.api.core.v1`. */
  schemaPrefix: string
  /** The protobuf package, if it has one. */
  protobufPackage: string
}

type PackageFamily = { group: string; folder?: string; schemaPrefix?: string }

const families: Readonly<Record<string, PackageFamily>> = {
  admission: { group: 'admission.k8s.io' },
  admissionregistration: { group: 'admissionregistration.k8s.io' },
  apidiscovery: { group: 'apidiscovery.k8s.io' },
  apiextensions: { group: 'apiextensions.k8s.io', schemaPrefix: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions' },
  apiregistration: { group: 'apiregistration.k8s.io', schemaPrefix: 'io.k8s.kube-aggregator.pkg.apis.apiregistration' },
  apiserverinternal: { group: 'internal.apiserver.k8s.io', folder: 'internal' },
  apps: { group: 'apps' },
  audit: { group: 'audit.k8s.io', schemaPrefix: 'io.k8s.apiserver.pkg.apis.audit' },
  authentication: { group: 'authentication.k8s.io' },
  authorization: { group: 'authorization.k8s.io' },
  autoscaling: { group: 'autoscaling' },
  batch: { group: 'batch' },
  certificates: { group: 'certificates.k8s.io' },
  coordination: { group: 'coordination.k8s.io' },
  core: { group: '' },
  discovery: { group: 'discovery.k8s.io' },
  events: { group: 'events.k8s.io' },
  extensions: { group: 'extensions' },
  flowcontrol: { group: 'flowcontrol.apiserver.k8s.io' },
  imagepolicy: { group: 'imagepolicy.k8s.io' },
  meta: { group: 'meta.k8s.io', schemaPrefix: 'io.k8s.apimachinery.pkg.apis.meta' },
  metrics: { group: 'metrics.k8s.io', schemaPrefix: 'io.k8s.metrics.pkg.apis.metrics' },
  networking: { group: 'networking.k8s.io' },
  node: { group: 'node.k8s.io' },
  policy: { group: 'policy' },
  rbac: { group: 'rbac.authorization.k8s.io' },
  resource: { group: 'resource.k8s.io' },
  scheduling: { group: 'scheduling.k8s.io' },
  storage: { group: 'storage.k8s.io' },
  storagemigration: { group: 'storagemigration.k8s.io' },
}

/** Undefined for the packages that hold no types of the API. */
export function apiPackage(name: string): ApiPackage | undefined {
  const [familyName, version] = name.split('/')
  if (familyName === undefined || version === undefined) return undefined
  const family = families[familyName]
  if (family === undefined) return undefined
  const schemaPrefix = `${family.schemaPrefix ?? `io.k8s.api.${familyName}`}.${version}`
  return {
    name,
    group: family.group,
    version,
    folder: `${family.folder ?? familyName}/${version}`,
    schemaPrefix,
    protobufPackage: schemaPrefix.replace(/^io\.k8s/, 'k8s.io').replaceAll('-', '_'),
  }
}

export function packageOfGroupVersion(group: string, version: string): ApiPackage {
  const [name] = Object.entries(families).find(([, family]) => family.group === group) ?? []
  const found = name === undefined ? undefined : apiPackage(`${name}/${version}`)
  if (found === undefined) throw new Error(`no package holds the types of ${group}/${version}`)
  return found
}
