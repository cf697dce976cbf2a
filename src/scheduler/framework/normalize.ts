import { maxNodeScore } from '#scheduler/framework/plugin.ts'

/** The highest becomes 100, the others in proportion. */
export function scoreHighestBest(scores: Float64Array): void {
  const highest = highestOf(scores)
  if (highest === 0) return
  for (let index = 0; index < scores.length; index++) scores[index] = Math.trunc((maxNodeScore * (scores[index] as number)) / highest)
}

/** The highest becomes 0; all become 100 when none has anything against it. */
export function scoreLowestBest(scores: Float64Array): void {
  const highest = highestOf(scores)
  if (highest === 0) {
    scores.fill(maxNodeScore)
    return
  }
  for (let index = 0; index < scores.length; index++) {
    scores[index] = maxNodeScore - Math.trunc((maxNodeScore * (scores[index] as number)) / highest)
  }
}

function highestOf(scores: Float64Array): number {
  let highest = 0
  for (let index = 0; index < scores.length; index++) if ((scores[index] as number) > highest) highest = scores[index] as number
  return highest
}
