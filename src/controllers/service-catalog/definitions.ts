/** The service catalog's objects: brokers, what they offer, and what users take of it. */
import { type CustomObjectOf, defineCustomResource } from '#api/declaration/define-custom-resource.ts'
import { anyObject, boolean, choice, conditions, integer, list, map, object, optional, string, time } from '#api/declaration/schema.ts'

const shared = {
  group: 'servicecatalog.k8s.io',
  version: 'v1beta1',
  categories: ['all', 'svcat'],
  annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/service-catalog' },
}
const ready = { name: 'Status', type: 'string', jsonPath: '.status.conditions[0].reason' }
const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }
const secretRef = object({ secretRef: object({ namespace: string(), name: string() }) })
const named = object({ name: string() })

export const ClusterServiceBroker = defineCustomResource({
  ...shared,
  kind: 'ClusterServiceBroker',
  scope: 'Cluster',
  spec: object({
    url: string({ minLength: 1 }),
    authInfo: optional(object({ basic: optional(secretRef), bearer: optional(secretRef) })),
    caBundle: optional(string()),
    insecureSkipTLSVerify: optional(boolean()),
    relistBehavior: choice(['Duration', 'Manual'], { default: 'Duration' }),
    relistDuration: optional(string({ format: 'duration' })),
    relistRequests: optional(integer()),
  }),
  status: object({
    conditions: conditions(),
    lastCatalogRetrievalTime: optional(time()),
    reconciledGeneration: optional(integer()),
  }),
  columns: [{ name: 'URL', type: 'string', jsonPath: '.spec.url' }, ready, age],
})
export type ClusterServiceBroker = CustomObjectOf<typeof ClusterServiceBroker>

const removal = object({ removedFromBrokerCatalog: boolean({ default: false }) })

export const ClusterServiceClass = defineCustomResource({
  ...shared,
  kind: 'ClusterServiceClass',
  plural: 'clusterserviceclasses',
  scope: 'Cluster',
  spec: object({
    clusterServiceBrokerName: string(),
    externalName: string(),
    externalID: string(),
    description: optional(string()),
    bindable: boolean({ default: false }),
    planUpdatable: boolean({ default: false }),
    bindingRetrievable: boolean({ default: false }),
    tags: optional(list(string())),
    requires: optional(list(string())),
    externalMetadata: optional(anyObject()),
  }),
  status: removal,
  selectableFields: ['.spec.externalName', '.spec.externalID', '.spec.clusterServiceBrokerName'],
  columns: [
    { name: 'External-Name', type: 'string', jsonPath: '.spec.externalName' },
    { name: 'Broker', type: 'string', jsonPath: '.spec.clusterServiceBrokerName' },
    age,
  ],
})
export type ClusterServiceClass = CustomObjectOf<typeof ClusterServiceClass>

export const ClusterServicePlan = defineCustomResource({
  ...shared,
  kind: 'ClusterServicePlan',
  scope: 'Cluster',
  spec: object({
    clusterServiceBrokerName: string(),
    clusterServiceClassRef: named,
    externalName: string(),
    externalID: string(),
    description: optional(string()),
    free: boolean({ default: true }),
    bindable: optional(boolean()),
    externalMetadata: optional(anyObject()),
    instanceCreateParameterSchema: optional(anyObject()),
    serviceBindingCreateParameterSchema: optional(anyObject()),
  }),
  status: removal,
  selectableFields: ['.spec.externalName', '.spec.externalID', '.spec.clusterServiceClassRef.name'],
  columns: [
    { name: 'External-Name', type: 'string', jsonPath: '.spec.externalName' },
    { name: 'Broker', type: 'string', jsonPath: '.spec.clusterServiceBrokerName' },
    { name: 'Class', type: 'string', jsonPath: '.spec.clusterServiceClassRef.name' },
    age,
  ],
})
export type ClusterServicePlan = CustomObjectOf<typeof ClusterServicePlan>

const parameters = {
  parameters: optional(anyObject()),
  parametersFrom: optional(list(object({ secretKeyRef: object({ name: string(), key: string() }) }))),
}

export const ServiceInstance = defineCustomResource({
  ...shared,
  kind: 'ServiceInstance',
  spec: object({
    clusterServiceClassExternalName: optional(string()),
    clusterServiceClassExternalID: optional(string()),
    clusterServicePlanExternalName: optional(string()),
    clusterServicePlanExternalID: optional(string()),
    externalID: optional(string({ description: 'What the broker knows the instance by; its uid where absent.' })),
    updateRequests: optional(integer({ description: 'Counted up to have the broker told once more, of changed secrets for one.' })),
    ...parameters,
  }),
  status: object({
    conditions: conditions(),
    asyncOpInProgress: boolean({ default: false }),
    lastOperation: optional(string()),
    currentOperation: optional(choice(['Provision', 'Update', 'Deprovision'])),
    /** The broker may have made it though it did not say so: it is asked to take it away. */
    orphanMitigationInProgress: boolean({ default: false }),
    operationStartTime: optional(time()),
    provisionStatus: choice(['NotProvisioned', 'Provisioned'], { default: 'NotProvisioned' }),
    deprovisionStatus: choice(['NotRequired', 'Required', 'Succeeded', 'Failed'], { default: 'NotRequired' }),
    dashboardURL: optional(string()),
    reconciledGeneration: optional(integer()),
    /** Whom to ask when it goes, whatever has become of the catalog meanwhile. */
    externalProperties: optional(map(string())),
    /** What it will be once the current operation has succeeded. */
    inProgressProperties: optional(map(string())),
  }),
  columns: [
    { name: 'Class', type: 'string', jsonPath: '.spec.clusterServiceClassExternalName' },
    { name: 'Plan', type: 'string', jsonPath: '.spec.clusterServicePlanExternalName' },
    ready,
    age,
  ],
})
export type ServiceInstance = CustomObjectOf<typeof ServiceInstance>

export const ServiceBinding = defineCustomResource({
  ...shared,
  kind: 'ServiceBinding',
  spec: object({
    instanceRef: named,
    secretName: optional(string()),
    externalID: optional(string()),
    ...parameters,
  }),
  status: object({
    conditions: conditions(),
    reconciledGeneration: optional(integer()),
    asyncOpInProgress: boolean({ default: false }),
    lastOperation: optional(string()),
    currentOperation: optional(choice(['Bind', 'Unbind'])),
    orphanMitigationInProgress: boolean({ default: false }),
    unbindStatus: choice(['NotRequired', 'Required', 'Succeeded', 'Failed'], { default: 'NotRequired' }),
    externalProperties: optional(map(string())),
  }),
  columns: [
    { name: 'Service-Instance', type: 'string', jsonPath: '.spec.instanceRef.name' },
    { name: 'Secret-Name', type: 'string', jsonPath: '.spec.secretName' },
    ready,
    age,
  ],
})
export type ServiceBinding = CustomObjectOf<typeof ServiceBinding>

export const serviceCatalogResources = [ClusterServiceBroker, ClusterServiceClass, ClusterServicePlan, ServiceInstance, ServiceBinding]
