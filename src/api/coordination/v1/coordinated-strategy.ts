/** Rules for the name of the strategy by which the server picks a leader. */
import type { Check } from '#api/meta/check.ts'
import { mustBe, qualifiedName } from '#api/meta/names.ts'

/** Other people's strategies have a domain. `check` stands at the strategy; upstream's messages name a field of that name below it. */
export function validateCoordinatedStrategy(strategy: string, check: Check): void {
  if (strategy.includes('/')) mustBe(qualifiedName, strategy, check.at('strategy'))
  else if (strategy !== 'OldestEmulationVersion') check.at('strategy').notSupported(strategy, ['OldestEmulationVersion'])
}
