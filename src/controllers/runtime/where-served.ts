import type { Kind } from '#api/kind.ts'
import { isNotFound } from '#api/meta/server-response.ts'
import type { Client } from '#client/client.ts'
import type { Controller } from '#controllers/runtime/environment.ts'

/** The controller, which does nothing where the API server does not have its kind: waiting for that would hold up the others. */
export function whereServed(kind: Kind, controller: Controller): Controller {
  return {
    ...controller,
    async start(environment) {
      if (await isServed(kind, await environment.clientFor(''))) return controller.start(environment)
      const { group, version, plural } = kind
      environment.logger.info('controller is not needed: the API server does not serve what it looks at', {
        controller: controller.name,
        resource: `${plural}.${version}.${group}`,
      })
      return { begin() {}, isIdle: true, async stop() {} }
    },
  }
}

/** Whether the API server has the kind at all. */
export async function isServed({ group, version, plural }: Kind, client: Client): Promise<boolean> {
  try {
    const { resources = [] } = JSON.parse(await client.raw(`/apis/${group}/${version}`)) as { resources?: { name?: string }[] }
    return resources.some(({ name }) => name === plural)
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
