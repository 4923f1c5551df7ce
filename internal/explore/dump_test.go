package explore
import ("testing";"fmt";"os";"strconv";"strings";"math/rand/v2";"github.com/wheellock/wheellock/internal/explore/redismodel")
func TestDump(t *testing.T){
 sd,_:=strconv.ParseUint(os.Getenv("S"),10,64)
 w:=tracedWorlds[(sd-1)%2]
 var log []string
 s := newState(w, redismodel.NewInterpreter(), nil, &log)
 r:=rand.New(rand.NewPCG(sd, uint64(len(w.Name))))
 var moves []Move
 for range 150 {
  moves=s.moves(moves[:0]); if len(moves)==0 {break}
  m:=choose(moves,r); log=append(log,fmt.Sprintf("%-14v %d",m,s.now)); s.apply(m); s.check()
 }
 fmt.Println(strings.Join(log,"\n"))
}
