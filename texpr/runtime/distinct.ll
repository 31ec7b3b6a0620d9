; Does every row of an array of $TYPE hold each value once? Values are marked at their distance from the least one, and unmarked for
; the next row. False, too, for a value out of the given span: then sorting has to tell.
define i1 @tx_distinct_$NAME(ptr %data, i64 %rows, i64 %row, i64 %least, i64 %span, ptr %marks) #0 {
entry:
  br label %rows.loop
rows.loop:
  %r = phi i64 [ 0, %entry ], [ %r.next, %unmarked ]
  %more.rows = icmp slt i64 %r, %rows
  br i1 %more.rows, label %begin, label %yes
begin:
  %offset = mul i64 %r, %row
  %start = getelementptr $TYPE, ptr %data, i64 %offset
  br label %mark
mark:
  %i = phi i64 [ 0, %begin ], [ %i.next, %inside ]
  %seen = phi i8 [ 0, %begin ], [ %seen.next, %inside ]
  %left = icmp slt i64 %i, %row
  br i1 %left, label %one, label %marked
one:
  %at = getelementptr $TYPE, ptr %start, i64 %i
  %element = load $TYPE, ptr %at, align 1
  %value = $EXTEND
  %distance = sub i64 %value, %least
  %known = icmp ult i64 %distance, %span
  br i1 %known, label %inside, label %no
inside:
  %place = getelementptr i8, ptr %marks, i64 %distance
  %before = load i8, ptr %place
  %seen.next = or i8 %seen, %before
  store i8 1, ptr %place
  %i.next = add i64 %i, 1
  br label %mark
marked:
  %twice = icmp ne i8 %seen, 0
  %r.next = add i64 %r, 1
  %last = icmp eq i64 %r.next, %rows
  br i1 %twice, label %no, label %end
end:
  br i1 %last, label %yes, label %unmark
unmark:
  %j = phi i64 [ 0, %end ], [ %j.next, %clear ]
  %dirty = icmp slt i64 %j, %row
  br i1 %dirty, label %again, label %unmarked
again:
  %again.at = getelementptr $TYPE, ptr %start, i64 %j
  %again.element = load $TYPE, ptr %again.at, align 1
  %again.value = $AGAIN
  %again.distance = sub i64 %again.value, %least
  %still = icmp ult i64 %again.distance, %span
  br i1 %still, label %clear, label %no
clear:
  %again.place = getelementptr i8, ptr %marks, i64 %again.distance
  store i8 0, ptr %again.place
  %j.next = add i64 %j, 1
  br label %unmark
unmarked:
  br label %rows.loop
yes:
  ret i1 true
no:
  ret i1 false
}
