import { Deployment, defineController, NotControlledError, ownedObjects, writeStatus } from '#index.ts'
import { Foo } from './foo.ts'

/** Keeps the Deployment that each Foo asks for, and tells how much of it is available. */
export const fooController = defineController({
  name: 'sample-controller',
  for: Foo,
  owns: [Deployment],

  async reconcile(foo, context) {
    const { client, events } = context
    const { deploymentName, replicas } = foo.spec
    const labels = { app: 'nginx', controller: foo.metadata.name ?? '' }
    const owned = ownedObjects({ owner: foo, kind: Foo, context })
    try {
      const deployment = await owned.apply(Deployment, {
        metadata: { name: deploymentName },
        spec: {
          replicas,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: 'nginx', image: 'nginx:latest' }] } },
        },
      })
      // A Foo that asks for another name lets go of what it had.
      await owned.keepOnly(Deployment, [deploymentName])
      const availableReplicas = deployment.status?.availableReplicas ?? 0
      await writeStatus(client, Foo, foo, { availableReplicas })
      if (foo.status?.availableReplicas !== availableReplicas) events.normal(Foo, foo, 'Synced', 'Foo synced successfully')
    } catch (error) {
      if (error instanceof NotControlledError) events.warning(Foo, foo, 'ErrResourceExists', error.message)
      throw error
    }
  },
})
