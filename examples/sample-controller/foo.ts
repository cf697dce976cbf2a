import { type CustomObjectOf, defineCustomResource, integer, object, optional, string } from '#index.ts'

/** Asks for a Deployment of this name with so many replicas. */
export const Foo = defineCustomResource({
  group: 'samplecontroller.k8s.io',
  version: 'v1alpha1',
  kind: 'Foo',
  annotations: { 'api-approved.kubernetes.io': 'unapproved, an example' },
  spec: object({
    deploymentName: string({ minLength: 1 }),
    replicas: integer({ minimum: 1, maximum: 10, default: 1 }),
  }),
  status: object({ availableReplicas: optional(integer()) }),
  columns: [
    { name: 'Deployment', type: 'string', jsonPath: '.spec.deploymentName' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Available', type: 'integer', jsonPath: '.status.availableReplicas' },
  ],
})

export type Foo = CustomObjectOf<typeof Foo>
