import type { Controller } from '#controllers/runtime/environment.ts'

/** One controller made of several loops, which start and stop together. */
export function togetherAs(names: Pick<Controller, 'name' | 'alias' | 'serviceAccount'>, loops: readonly Controller[]): Controller {
  return {
    ...names,
    async start(environment) {
      const parts = await Promise.all(loops.map((loop) => loop.start(environment)))
      return {
        begin() {
          for (const part of parts) part.begin()
        },
        get isIdle() {
          return parts.every(({ isIdle }) => isIdle)
        },
        async stop() {
          await Promise.all(parts.map((part) => part.stop()))
        },
      }
    },
  }
}
