import { type Chapter, linesOf } from './lines.ts'

export const rolling: Chapter = {
  name: 'rollouts',
  byHand: true,
  isSettled: true,
  lines: linesOf(`
    create deployment web --image=nginx:1 --replicas=2
    rollout status deploy/web --timeout=60s
    rollout history deploy/web
    annotate deploy web kubernetes.io/change-cause=first
    rollout history deploy/web
    set image deploy/web nginx=nginx:2
    rollout status deploy/web --timeout=60s
    rollout history deploy/web
    rollout history deploy/web --revision=1
    rollout history deploy/web --revision=2 -o jsonpath={.spec.template.spec.containers[0].image}
    rollout history deploy/web --revision=9
    rollout history deploy/web -o yaml --revision=1
    rollout history deploy/web -o name
    rollout undo deploy/web --dry-run=client
    rollout undo deploy/web --dry-run=server
    rollout undo deploy/web
    rollout status deploy/web --timeout=60s
    rollout undo deploy/web --to-revision=2
    rollout undo deploy/web --to-revision=2
    rollout undo deploy/web --to-revision=77
    rollout undo deploy/nosuch
    rollout pause deploy/web
    rollout status deploy/web --watch=false
    rollout undo deploy/web
    rollout restart deploy/web
    rollout resume deploy/web
    rollout restart deploy/web
    rollout restart deploy
    rollout restart deploy -l app=web
    rollout restart cm
    rollout status deploy/web --timeout=60s
    rollout status deploy/web --watch=false
    rollout status deploy/web --revision=99
    rollout status deploy
    rollout pause deploy web
    rollout resume deploy -l app=web
    rollout
    rollout foo
    apply -f {dir}/described.yaml
    rollout history sts/db
    rollout history ds/agent
    rollout status ds/agent --watch=false
    rollout restart sts/db
    rollout restart ds/agent
    rollout history sts/db
    rollout history sts/db --revision=1
    rollout undo sts/db --to-revision=1
    rollout undo ds/agent --dry-run=client
    rollout undo ds/agent
    rollout pause ds/agent
    rollout undo cm/one
    rollout history rs -l app=web
    scale deploy web --replicas=0
    scale deploy web --replicas=1 --timeout=60s
    autoscale deploy web --min=1 --max=3 --cpu-percent=50
    autoscale deploy web --min=1 --max=3 --cpu=50% --name=two -o yaml
    autoscale deploy web --max=0
    autoscale cm x --max=2
    autoscale -f {dir}/deploy.yaml --max=4
    get hpa -o name
    wait deploy/web --for=condition=Available --timeout=60s
    wait deploy/web --for=condition=Available=false --timeout=1s
    wait deploy --all --for=jsonpath={.status.readyReplicas}=1 --timeout=60s
    wait deploy/web --for=jsonpath='{.spec.template.spec.containers[0].name}'=nginx --timeout=5s
    wait deploy/web --for=jsonpath={.nosuch}=x --timeout=1s
    wait deploy/web --for=jsonpath={ --timeout=1s
    wait deploy/web --for=jsonpath={.a}=b=c --timeout=1s
    wait deploy/web --for=condition=NoSuch --timeout=1s
    wait deploy/web deploy/nosuch --for=condition=Available --timeout=1s
    wait --for=create cm/nosuch --timeout=1s
    wait --for=delete deploy/nosuch
    wait -f {dir}/cm.yaml --for=create --timeout=1s
    wait --for=condition=Ready pod -l app=web --timeout=60s -o name
    wait --for=delete pod -l app=nosuch --timeout=1s
    wait --for=condition=Ready --timeout=-1s pod/nosuch
  `),
}
