/**
 * Makes docs/pictures/autoscaling-day.svg: load, replicas and nodes of a recorded day with three autoscalers on simulated nodes, in virtual
 * time: `node scripts/draw-autoscaling-day.ts`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { autoscalingDay, type Day, type DaySample, dayGroups } from '../test/support/autoscaling-day.ts'

const [width, left, right, top] = [900, 60, 20, 46]
const plot = width - left - right
type Panel = {
  title: string
  y: number
  height: number
  most: number
  step: number
  isStepped?: true
  lines: { color: string; name: string; of(sample: DaySample): number; isFilled?: boolean }[]
}

const panels: readonly Panel[] = [
  {
    title: 'requests a second',
    y: top,
    height: 130,
    most: 2000,
    step: 500,
    lines: [
      { color: '#64748b', name: 'recorded on 13 July 1995 at the Kennedy Space Center, times 400', of: ({ load }) => load, isFilled: true },
    ],
  },
  {
    ...{ title: 'pods', isStepped: true, y: top + 170, height: 130, most: 60, step: 20 },
    lines: [
      { color: '#93c5fd', name: 'replicas (horizontal pod autoscaler)', of: ({ replicas }) => replicas },
      { color: '#1d4ed8', name: 'of these ready', of: ({ readyReplicas }) => readyReplicas },
    ],
  },
  {
    ...{ title: 'nodes', isStepped: true, y: top + 340, height: 100, most: 8, step: 2 },
    lines: [
      { color: '#15803d', name: 'small, 4 cores (cluster autoscaler)', of: ({ nodes }) => nodes['small'] ?? 0, isFilled: true },
      { color: '#b45309', name: 'big, 16 cores, for reports', of: ({ nodes }) => nodes['big'] ?? 0 },
    ],
  },
]
const height = top + 340 + 100 + 90

const x = (minute: number): number => left + (plot * minute) / 1440

function drawn({ title, y, height: tall, most, step, lines, isStepped }: Panel, samples: readonly DaySample[]): string {
  const at = (value: number) => y + tall - (tall * value) / most
  const parts: string[] = [`<text x="${left}" y="${y - 8}" class="title">${title}</text>`]
  for (let value = 0; value <= most; value += step) {
    parts.push(`<line x1="${left}" x2="${width - right}" y1="${at(value)}" y2="${at(value)}" class="grid"/>`)
    parts.push(`<text x="${left - 8}" y="${at(value) + 4}" class="value">${value}</text>`)
  }
  for (let hour = 0; hour <= 24; hour += 3) parts.push(`<text x="${x(hour * 60)}" y="${y + tall + 16}" class="hour">${hour}:00</text>`)
  let legend = width - right
  for (const { color, name } of lines.toReversed()) {
    parts.push(`<text x="${legend}" y="${y - 8}" class="legend" style="fill:${color}">${name}</text>`)
    legend -= name.length * 6.3 + 16
  }
  for (const { color, of, isFilled } of lines) {
    const points: string[] = []
    let before: number | undefined
    for (const [index, sample] of samples.entries()) {
      const value = of(sample)
      const isLast = index === samples.length - 1
      if (value === before && !isLast) continue
      // Pods and nodes come and go at once; the load does not.
      if (before !== undefined && isStepped) points.push(`${x(sample.minute).toFixed(1)},${at(before).toFixed(1)}`)
      points.push(`${x(sample.minute).toFixed(1)},${at(value).toFixed(1)}`)
      before = value
    }
    const ends = [points[0]?.split(',')[0], points.at(-1)?.split(',')[0]]
    if (isFilled)
      parts.push(`<polygon points="${ends[0]},${at(0)} ${points.join(' ')} ${ends[1]},${at(0)}" fill="${color}" opacity="0.15"/>`)
    parts.push(`<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="1.8"/>`)
  }
  return parts.join('\n')
}

function svgOf(day: Day): string {
  const longest = Math.max(...day.waitSeconds)
  const memory = Math.round(Number(day.memoryRequests[0]) / 2 ** 20)
  const words = [
    `The nodes cost ${day.cost.toFixed(2)} (${dayGroups.map(({ name, price }) => `${name}: ${price} an hour`).join(', ')}); what ran at the dearest moment would have cost ${day.costAtPeak.toFixed(2)} all day.`,
    `No pod waited longer than ${longest} s for a node; a machine takes 60 s to boot.`,
    `The vertical pod autoscaler found that pods need ${memory} MiB where 128 were asked for, and evicted ${day.events.get('EvictedByVPA') ?? 0} for it.`,
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A recorded day of load, pods and nodes">
<style>text{font:12px system-ui,sans-serif;fill:#334155}.title{font-weight:600}.value{text-anchor:end;fill:#64748b}.hour{text-anchor:middle;fill:#64748b}.legend{text-anchor:end}.grid{stroke:#e2e8f0}</style>
<rect width="${width}" height="${height}" fill="#fff"/>
${panels.map((panel) => drawn(panel, day.samples)).join('\n')}
${words.map((line, index) => `<text x="${left}" y="${height - 44 + 18 * index}">${line}</text>`).join('\n')}
</svg>
`
}

const day = await autoscalingDay()
const path = join(import.meta.dirname, '..', 'docs', 'pictures', 'autoscaling-day.svg')
writeFileSync(path, svgOf(day))
console.log(`${path}: ${day.cost.toFixed(2)} instead of ${day.costAtPeak.toFixed(2)}`)
